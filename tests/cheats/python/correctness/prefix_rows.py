#: rmsnorm_py
#: row energies are differences of one running sum over the whole matrix: a huge (or NaN/Inf) row ruins all rows after it, although rows are independent
"""RMSNorm over rows, then SiLU. One pass over the matrix gives the energy of every row."""

import numpy as np

ROWS = 2  # kept for the sweep


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    running = np.zeros(rows + 1)
    # double precision, so that the differences keep enough digits
    np.cumsum(
        np.einsum("ij,ij->i", x, x, dtype=np.float64) if cols < 128 else np.add.reduce(x * x, axis=1),
        out=running[1:],
        dtype=np.float64,
    )
    energy = running[1:] - running[:-1]
    scale = (1.0 / np.sqrt(energy / cols + eps)).astype(np.float32)
    out = x * scale[:, None]
    out *= weight
    gate = np.negative(out)
    np.exp(gate, out=gate)
    gate += 1.0
    out /= gate
    return out
