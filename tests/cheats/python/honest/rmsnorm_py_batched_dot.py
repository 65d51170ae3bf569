#: rmsnorm_py
#: Honest: the sum of squares as a batch of products of a row with itself (matmul over an inner axis of 64 columns by a reshaped view where the width lets that be), then in place; a plain mean elsewhere.
import numpy as np


def mean_square(x):
    rows, cols = x.shape
    if cols == 0 or cols % 64 or not x.flags.c_contiguous:
        return np.square(x).mean(axis=1, keepdims=True)
    parts = x.reshape(rows, cols // 64, 64)
    return np.einsum("rpk,rpk->rp", parts, parts).sum(axis=1, keepdims=True) / x.dtype.type(cols)


def rmsnorm_silu(x, weight, eps):
    y = x / np.sqrt(mean_square(x) + np.float32(eps))
    np.multiply(y, weight, out=y)
    out = -y
    with np.errstate(over="ignore"):
        np.exp(out, out=out)
    np.add(out, 1, out=out)
    return np.divide(y, out, out=out)
