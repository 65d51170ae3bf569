#: rmsnorm_py
#: Rows in chunks of about 64 KB, so that the passes over a chunk find it in the cache, into two pieces of scratch and slices of the result.
"""RMSNorm over rows, then SiLU."""

import numpy as np

CHUNK = 16384  # elements


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    step = max(1, CHUNK // max(1, cols))
    out = np.empty_like(x)
    scratch = np.empty((min(step, rows), cols), x.dtype)
    eps, one = np.float32(eps), np.float32(1)
    with np.errstate(over="ignore"):
        for start in range(0, rows, step):
            part, y = x[start : start + step], out[start : start + step]
            t = scratch[: part.shape[0]]
            np.square(part, out=t)
            scale = np.mean(t, axis=1, keepdims=True)
            np.sqrt(np.add(scale, eps, out=scale), out=scale)
            np.divide(part, scale, out=y)
            np.multiply(y, weight, out=y)
            np.negative(y, out=t)
            np.exp(t, out=t)
            np.add(t, one, out=t)
            np.divide(y, t, out=y)
    return out
