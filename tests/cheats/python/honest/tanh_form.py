#: rmsnorm_py
#: silu by way of tanh, which NumPy has vectorised and which cannot overflow: y/2 + y/2 * tanh(y/2)
from functools import lru_cache

import numpy as np

HALF = np.float32(0.5)


@lru_cache(maxsize=None)
def scratch(shape: tuple[int, ...]) -> np.ndarray:
    return np.empty(shape, np.float32)


def rmsnorm_silu(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """Return silu(x / rms(x) * weight).

    sigmoid(y) = (1 + tanh(y / 2)) / 2, so with h = y / 2 the result is h + h * tanh(h). That is good to some 1e-7 of h, for
    large negative y as well: what cancels there is far below the tolerance.
    """
    t = scratch(x.shape)
    np.square(x, out=t)
    factor = np.add.reduce(t, axis=1, keepdims=True)
    factor /= np.float32(x.shape[1])
    factor += np.float32(eps)
    np.sqrt(factor, out=factor)
    np.divide(HALF, factor, out=factor)
    h = x * factor
    h *= weight
    np.tanh(h, out=t)
    t *= h
    h += t
    return h
