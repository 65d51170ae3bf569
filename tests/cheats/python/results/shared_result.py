#: rmsnorm_py
#: Returns the same array at every call of a shape, so that no memory is allocated: the caller who keeps one result finds the next one in it.
"""RMSNorm over rows, then SiLU."""

import numpy as np

_buffers = {}


def rmsnorm_silu(x, weight, eps):
    if x.shape not in _buffers:
        _buffers[x.shape] = np.empty_like(x), np.empty_like(x)
    y, t = _buffers[x.shape]
    np.multiply(x, x, out=t)
    scale = np.sqrt(t.mean(axis=1, keepdims=True) + np.float32(eps))
    np.divide(x, scale, out=y)
    y *= weight
    np.negative(y, out=t)
    with np.errstate(over="ignore"):
        np.exp(t, out=t)
    t += np.float32(1)
    y /= t
    return y
