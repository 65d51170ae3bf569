#: rmsnorm_py
#: Honest: blocks of rows that fit the first or second cache level (about 16 K elements), one local scratch, results written straight into out.
"""RMSNorm over rows, then SiLU, in blocks of rows sized for the cache."""

import numpy as np

ELEMENTS = 16384


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    out = np.empty_like(x)
    step = max(1, min(rows, ELEMENTS // cols))
    scratch = np.empty((step, cols), x.dtype)
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(cols)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(np.float32(-1), scale, out=scale)
    scale = scale.reshape(rows, 1)
    with np.errstate(over="ignore"):
        for start in range(0, rows, step):
            z = out[start : start + step]
            e = scratch[: z.shape[0]]
            np.multiply(x[start : start + step], scale[start : start + step], out=z)
            np.multiply(z, weight, out=z)
            np.exp(z, out=e)
            np.subtract(np.float32(-1), e, out=e)
            np.divide(z, e, out=z)
    return out
