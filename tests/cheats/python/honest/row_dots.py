#: rmsnorm_py
#: A call of np.dot for each row gives its sum of squares; the element-wise rest runs over all rows at once.
"""RMSNorm over rows, then SiLU."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    if rows > 64:
        sums = np.einsum("ij,ij->i", x, x)
    else:
        sums = np.fromiter((np.dot(row, row) for row in x), np.float32, count=rows)
    scale = 1.0 / np.sqrt(sums / np.float32(cols) + np.float32(eps))
    out = np.empty_like(x)
    np.multiply(x, scale.astype(np.float32)[:, None], out=out)
    np.multiply(out, weight, out=out)
    t = -out
    with np.errstate(over="ignore"):
        np.exp(t, out=t)
    t += np.float32(1.0)
    out /= t
    return out
