#: rmsnorm_py
#: Computes in the memory of x and returns x itself: saves two allocations, and the activations that the caller passed are gone.
"""RMSNorm over rows, then SiLU."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    x /= scale[:, None]
    x *= weight
    with np.errstate(over="ignore"):
        t = np.exp(-x)
    t += np.float32(1)
    x /= t
    return x
