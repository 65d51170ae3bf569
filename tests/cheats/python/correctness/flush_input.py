#: rmsnorm_py
#: "Flushes denormals" in the caller's array: elements of x whose square underflows (|x| below about 2.6e-23, and -0.0) are overwritten with 0 in place; the input is damaged.
"""RMSNorm over rows, then SiLU. Tiny values are flushed first: they don't change the result, and denormals are slow."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    out = x * x
    if not out.all() and x.flags.writeable:
        x[out == 0.0] = 0.0
    scale = 1.0 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(eps))
    y = np.multiply(x, scale)
    y *= weight
    np.negative(y, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(y, out, out=out)
    return out
