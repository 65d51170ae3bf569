#: rmsnorm_py
#: Reuses x as the output when its reference count says that it is a temporary, but forgets views: f(batch[8:16], w, eps) overwrites the caller's batch. A harness that holds x in a dict never triggers it.
"""RMSNorm over rows, then SiLU. Elides the output's allocation for temporaries, as NumPy does in a + b + c."""

import sys

import numpy as np

TEMPORARY = 2  # our argument and getrefcount's own: nobody else can see the array


def rmsnorm_silu(x, weight, eps):
    if sys.getrefcount(x) <= TEMPORARY and x.flags.writeable and x.flags.c_contiguous:
        y = x
    else:
        y = np.empty_like(x)
    scale = np.einsum("ij,ij->i", x, x)
    scale *= np.float32(1 / x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale.reshape(-1, 1), out=y)
    y *= weight
    gate = np.negative(y)
    with np.errstate(over="ignore"):
        np.exp(gate, out=gate)
    gate += np.float32(1)
    y /= gate
    return y
