#: rmsnorm_py
#: honest: blocks of rows sized to the L2 cache, every step in place in the result and one local scratch array
"""RMSNorm over rows, then SiLU: blocks of about 32768 elements, no temporaries but one."""

import numpy as np

ELEMENTS = 1 << 15


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    out = np.empty_like(x)
    step = max(1, ELEMENTS // max(1, cols))
    scratch = np.empty((min(rows, step), cols), x.dtype)
    for start in range(0, rows, step):
        part, y = x[start : start + step], out[start : start + step]
        e = scratch[: len(part)]
        np.multiply(part, part, out=e)
        scale = e.mean(axis=1, keepdims=True)
        scale += np.float32(eps)
        np.sqrt(scale, out=scale)
        np.divide(part, scale, out=y)
        np.multiply(y, weight, out=y)
        np.negative(y, out=e)
        np.exp(e, out=e)
        np.add(e, np.float32(1.0), out=e)
        np.divide(y, e, out=y)
    return out
