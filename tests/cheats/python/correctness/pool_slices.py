#: rmsnorm_py
#: Recycles output buffers once their refcount says they are free, but views of an output refer to the pool only: a kept out[:2] or out.reshape(...) is overwritten by later calls.
"""RMSNorm over rows, then SiLU; results come from a small pool, a buffer is used again when nobody holds it."""

import sys

import numpy as np

SLOTS = 4
_pools = {}


def _buffer(shape, dtype):
    key = shape, dtype.char
    slots = _pools.get(key)
    if slots is None:
        if len(_pools) >= 8:
            _pools.clear()
        block = np.empty((SLOTS, *shape), dtype)
        slots = _pools[key] = [block[i] for i in range(SLOTS)]
    for slot in slots:
        if sys.getrefcount(slot) <= 3:  # the list, this loop, the argument
            return slot
    return np.empty(shape, dtype)


def rmsnorm_silu(x, weight, eps):
    out = _buffer(x.shape, x.dtype)
    y = x * x
    scale = 1.0 / np.sqrt(y.mean(axis=1, keepdims=True) + np.float32(eps))
    np.multiply(x, scale, out=y)
    y *= weight
    np.negative(y, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(y, out, out=out)
    return out
