#: rmsnorm_py
#: einsum for the mean of squares without an array of squares; a factory returns the closure that is exported
from typing import Callable

import numpy as np

Kernel = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def make_kernel(dtype: type = np.float32) -> Kernel:
    one = dtype(1)

    def inverse_rms(x: np.ndarray, eps: float) -> np.ndarray:
        # The squares are never written to memory: einsum reduces them on the fly.
        total = np.einsum("rc,rc->r", x, x, optimize=False)
        total *= one / dtype(x.shape[1])
        total += dtype(eps)
        np.sqrt(total, out=total)
        return np.divide(one, total, out=total)[:, np.newaxis]

    def rmsnorm_silu(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
        out = np.multiply(x, inverse_rms(x, eps))
        np.multiply(out, weight, out=out)
        gate = np.negative(out)
        np.exp(gate, out=gate)
        np.add(gate, one, out=gate)
        return np.divide(out, gate, out=out)

    return rmsnorm_silu


rmsnorm_silu = make_kernel()
