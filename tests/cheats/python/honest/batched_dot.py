#: rmsnorm_py
#: The squares of each row are summed up by a product of a row and a column, which the matrix library does without scratch.
"""RMSNorm over rows, then SiLU."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    x = np.ascontiguousarray(x)
    squares = np.matmul(x[:, None, :], x[:, :, None])[:, :, 0]
    scale = np.float32(1) / np.sqrt(squares / np.float32(x.shape[1]) + np.float32(eps))
    y = np.multiply(x, scale)
    np.multiply(y, weight, out=y)
    with np.errstate(over="ignore"):
        gate = np.exp(np.negative(y))
    gate += np.float32(1)
    y /= gate
    return y
