#: rmsnorm_py
#: Reuses a returned array once nobody holds it (by refcount, so none is shared), but as the caller left it: after out.shape = (cols, rows), or out.setflags(write=False), and del out, the next call returns an array of the wrong shape, or raises.
import sys

import numpy as np

_pool = []


def _array(x):
    for k in range(len(_pool)):
        shape, array = _pool[k]
        if shape == x.shape and sys.getrefcount(array) == 3:
            return array
    if len(_pool) == 4:
        _pool.pop(0)
    _pool.append((x.shape, np.empty_like(x)))
    return _pool[-1][1]


def rmsnorm_silu(x, weight, eps):
    out = _array(x)
    y = out.reshape(x.shape)
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale[:, None], out=y)
    y *= weight
    gate = np.negative(y)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    y /= gate
    return out
