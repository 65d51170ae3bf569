#: rmsnorm_py
#: Scratch for the exponentials is kept from call to call and grown where needed; the result is a new array each time.
"""RMSNorm over rows, then SiLU."""

import numpy as np

_scratch = np.empty(1 << 16, np.float32)


def _take(shape):
    global _scratch
    size = shape[0] * shape[1]
    if _scratch.size < size:
        _scratch = np.empty(size, np.float32)
    return _scratch[:size].reshape(shape)


def rmsnorm_silu(x, weight, eps):
    t = _take(x.shape)
    np.multiply(x, x, out=t)
    scale = np.add.reduce(t, axis=1, keepdims=True)
    scale *= np.float32(1.0 / x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.reciprocal(scale, out=scale)
    y = x * scale
    np.multiply(y, weight, out=y)
    np.negative(y, out=t)
    with np.errstate(over="ignore"):
        np.exp(t, out=t)
    np.add(t, np.float32(1), out=t)
    return np.divide(y, t, out=y)
