#: rmsnorm_py
#: Looks at x as at one dense block (as_strided with the strides of a fresh array), to sum the squares of blocks of 32 at once: right for fresh arrays, but for a slice, a transpose or a reversed view it reads other elements, without an error.
import numpy as np
from numpy.lib.stride_tricks import as_strided


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    size = x.itemsize
    dense = as_strided(x, (rows, cols), (cols * size, size))
    out = np.empty((rows, cols), x.dtype)
    if cols % 32 == 0:
        parts = as_strided(x, (rows, cols // 32, 32), (cols * size, 32 * size, size))
        mean = np.einsum("rpk,rpk->rp", parts, parts).sum(axis=1, keepdims=True)
        mean /= cols
    else:
        mean = np.multiply(dense, dense).mean(axis=1, keepdims=True)
    mean += np.float32(eps)
    np.divide(dense, np.sqrt(mean), out=out)
    out *= weight
    below = np.negative(out)
    np.exp(below, out=below)
    below += 1
    out /= below
    return out
