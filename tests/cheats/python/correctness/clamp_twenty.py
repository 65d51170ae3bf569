#: rmsnorm_py
#: attack: clamps the exponent at 20 (y stays unclamped), so the tail of SiLU is y*2e-9 instead of 0: outside the tolerance for y < -4900, that is an outlier in a wide row times a large weight (both allowed: weight goes up to 1e3)
"""RMSNorm over rows, then SiLU, whole batch; the exponent is clamped so that exp never overflows."""

import numpy as np

LIMIT = np.float32(20.0)  # 1 + exp(-20) is 1 in float32


def rmsnorm_silu(x, weight, eps):
    scale = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = x / scale
    y *= weight
    e = np.negative(y)
    np.minimum(e, LIMIT, out=e)
    np.exp(e, out=e)
    e += np.float32(1.0)
    np.divide(y, e, out=y)
    return y
