#: rmsnorm_py
#: Honest: sums of squares with a batched product of row and column, in pieces of 1024 columns that are added in float64.
import numpy as np

PIECE = 1024


def _squares(x):
    total = np.zeros((x.shape[0], 1))
    for j in range(0, x.shape[1], PIECE):
        p = x[:, j : j + PIECE]
        total += np.matmul(p[:, None, :], p[:, :, None])[:, 0]
    return total


def rmsnorm_silu(x, weight, eps):
    s = _squares(x)
    s /= max(1, x.shape[1])
    s += eps
    y = x * (s**-0.5).astype(x.dtype)
    y *= weight
    gate = np.exp(-y)
    gate += 1
    return np.divide(y, gate, out=gate)
