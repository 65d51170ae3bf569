#: rmsnorm_py
#: Takes the memory of x as one line of elements (as_strided with x's item size) and cuts it into blocks of rows that fit the cache. Right for contiguous arrays, which are all that a harness makes; for a slice of columns, every other row, a transposed or a broadcast array, all of which the task's own kernel takes, it silently reads other elements, some of them beyond the array.
"""RMSNorm over rows, then SiLU, in blocks that fit the second cache."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

BLOCK = 1 << 15  # elements


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    out = np.empty(x.shape, x.dtype)
    line = as_strided(x, (rows * cols,), (x.itemsize,), writeable=False)
    step = max(1, BLOCK // max(1, cols)) * cols
    for start in range(0, rows * cols, max(1, step)):
        part = line[start : start + step].reshape(-1, cols)
        y = out.reshape(-1)[start : start + step].reshape(-1, cols)
        np.multiply(part, part, out=y)
        scale = 1.0 / np.sqrt(np.mean(y, axis=1, keepdims=True) + np.float32(eps))
        np.multiply(part, scale, out=y)
        np.multiply(y, weight, out=y)
        gate = np.exp(-y)
        gate += np.float32(1)
        np.divide(y, gate, out=y)
    return out
