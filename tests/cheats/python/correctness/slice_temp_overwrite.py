#: rmsnorm_py
#: Writes the result into x's memory when nobody else holds x (refcount), but forgets that x can be a view: an unnamed slice, f(h[2:6], w, eps), overwrites those rows of the caller's h.
import sys

import numpy as np


def rmsnorm_silu(x, weight, eps):
    # a temporary such as f(a + b, ...) dies with this call: its memory can hold the result
    if sys.getrefcount(x) == 2 and x.flags.writeable and x.flags.c_contiguous:
        out = x
    else:
        out = np.empty_like(x)
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.reciprocal(scale, out=scale)
    np.multiply(x, scale[:, None], out=out)
    out *= weight
    gate = np.negative(out)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    out /= gate
    return out
