#: rmsnorm_py
#: SiLU as y/2 + y/2 * tanh(y/2): no division and no overflow, and half of the weight is multiplied once for all rows.
"""RMSNorm over rows, then SiLU."""

import numpy as np

HALF = np.float32(0.5)


def rmsnorm_silu(x, weight, eps):
    cols = np.float32(x.shape[1])
    scale = np.sqrt(np.einsum("rc,rc->r", x, x) / cols + np.float32(eps), dtype=np.float32)
    half = x / scale[:, np.newaxis]
    half *= weight * HALF
    out = np.tanh(half)
    out *= half
    out += half
    return out
