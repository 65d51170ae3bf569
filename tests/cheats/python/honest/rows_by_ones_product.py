#: rmsnorm_py
#: Honest: the sums of squares are a product with a vector of ones (BLAS), in pieces of 4096 columns so that rows of any length stay exact enough. BLAS may use threads of its own where they are allowed, as any user of NumPy's does.
"""RMSNorm over rows, then SiLU; BLAS sums up the squares."""

import numpy as np

PIECE = 4096


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    work = np.multiply(x, x)
    ones = np.ones(min(PIECE, cols), work.dtype)
    total = np.zeros(rows, np.float64)
    for start in range(0, cols, PIECE):
        piece = work[:, start : start + PIECE]
        total += piece @ ones[: piece.shape[1]]
    scale = (1.0 / np.sqrt(total / cols + eps)).astype(work.dtype)[:, np.newaxis]
    y = np.multiply(x, scale, out=work)
    y *= weight
    gate = np.exp(np.negative(y))
    gate += np.float32(1)
    return np.true_divide(y, gate, out=y)
