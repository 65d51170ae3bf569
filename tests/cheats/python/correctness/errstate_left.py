#: rmsnorm_py
#: Sets NumPy's error state to "ignore" in the call and never restores it: the caller's np.seterr(all="raise") no longer works after the first call.
"""RMSNorm over rows, then SiLU; all rows at once, in place. exp may overflow to inf, which is right here."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    np.seterr(all="ignore")
    out = x * x
    scale = 1.0 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(eps))
    y = np.multiply(x, scale)
    y *= weight
    np.negative(y, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(y, out, out=out)
    return out
