#: rmsnorm_py
#: Keeps block offsets as int16, which wrap from row 32768 on: with more rows, rows are left uninitialised (wrong for large sizes only).
"""RMSNorm over rows, then SiLU, in blocks of rows; the compact table of offsets is built once for a number of rows."""

from functools import lru_cache

import numpy as np

BLOCK = 64


@lru_cache(maxsize=16)
def offsets(rows):
    return tuple(np.arange(0, rows, BLOCK).astype(np.int16).tolist())


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    eps = np.float32(eps)
    for start in offsets(x.shape[0]):
        part = x[start : start + BLOCK]
        y = part * part
        scale = 1.0 / np.sqrt(y.mean(axis=1, keepdims=True) + eps)
        np.multiply(part, scale, out=y)
        y *= weight
        e = np.exp(-y)
        e += 1.0
        np.divide(y, e, out=out[start : start + BLOCK])
    return out
