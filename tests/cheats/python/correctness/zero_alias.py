#: rmsnorm_py
#: For an all-zero input it returns x itself (the values are right), so the result aliases the argument: writing to the result changes the caller's x.
"""RMSNorm over rows, then SiLU. Zeros stay zeros."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    if not x.any():
        return x
    out = x * x
    scale = 1.0 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(eps))
    y = np.multiply(x, scale)
    y *= weight
    np.negative(y, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(y, out, out=out)
    return out
