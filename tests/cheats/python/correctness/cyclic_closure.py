#: rmsnorm_py
#: halves the rows with an inner function that refers to itself: the cycle keeps x, the result and scratch alive after each call until a cyclic GC happens, so memory grows (without bound where gc is off)
"""RMSNorm over rows, then SiLU. Rows are halved until a piece fits the cache."""

import numpy as np

PIECE = 1 << 15


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    out = np.empty_like(x)
    eps = np.float32(eps)
    scratch = np.empty((min(rows, max(1, PIECE // max(cols, 1))), cols), x.dtype)

    def piece(start, stop):
        count = stop - start
        if count > len(scratch):
            middle = start + count // 2
            piece(start, middle)
            piece(middle, stop)
            return
        part, y, gate = x[start:stop], out[start:stop], scratch[:count]
        np.multiply(part, part, out=gate)
        scale = gate.mean(axis=1, keepdims=True)
        scale += eps
        np.sqrt(scale, out=scale)
        np.divide(part, scale, out=y)
        y *= weight
        np.negative(y, out=gate)
        np.exp(gate, out=gate)
        gate += np.float32(1.0)
        y /= gate

    piece(0, rows)
    return out
