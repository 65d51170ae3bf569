#: rmsnorm_py
#: sums the squares on a transposed copy, where NumPy adds them one after another into one float32 per row (no pairwise sum): with 2 rows or more, long rows come out wrong beyond rtol (constant rows of 2e4 or 1e5 columns, random ones from some 1e6)
"""RMSNorm over rows, then SiLU. The sums of all rows advance side by side, in vector registers."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    turned = np.array(x.T, order="C", copy=True)
    turned *= turned
    scale = np.add.reduce(turned, axis=0)
    scale /= np.float32(max(x.shape[1], 1))
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = np.divide(x, scale[:, None])
    y *= weight
    gate = turned.reshape(x.shape)  # its memory again
    np.negative(y, out=gate)
    np.exp(gate, out=gate)
    gate += np.float32(1.0)
    y /= gate
    return y
