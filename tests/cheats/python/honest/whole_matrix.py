#: rmsnorm_py
#: Honest: the whole matrix at once, each step into arrays of this call; overflow of exp is silenced with errstate, which ends with the call.
"""RMSNorm over rows, then SiLU, on the whole matrix."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    out = np.square(x)
    scale = out.mean(axis=1, keepdims=True)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale, out=out)
    out *= weight
    with np.errstate(over="ignore"):
        gate = np.exp(-out)
    gate += np.float32(1)
    out /= gate
    return out
