#: rmsnorm_py
#: Honest: the whole matrix at once, every step in place with out=, one temporary; the sign is folded into the scale.
"""RMSNorm over rows, then SiLU: all rows at once, in place."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    e = np.multiply(x, x)
    scale = np.add.reduce(e, axis=1, keepdims=True)
    scale *= np.float32(1.0 / x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(np.float32(-1.0), scale, out=scale)
    z = np.multiply(x, scale)  # minus the normalised row
    z *= weight
    with np.errstate(over="ignore"):
        np.exp(z, out=e)
    np.subtract(np.float32(-1.0), e, out=e)  # -(1 + exp(-y))
    np.divide(z, e, out=z)
    return z
