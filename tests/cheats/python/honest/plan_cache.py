#: rmsnorm_py
#: a plan (slices of rows) is remembered by shape in a small bounded lru_cache: no data, inputs or buffers are kept
"""RMSNorm over rows, then SiLU, by a plan."""

from functools import lru_cache

import numpy as np

BLOCK = 1 << 15


@lru_cache(maxsize=16)
def _plan(rows, cols):
    step = max(1, BLOCK // max(cols, 1))
    return step, tuple(slice(start, min(start + step, rows)) for start in range(0, min(rows, 64 * step), step))


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    step, first = _plan(rows, cols)
    out = np.empty_like(x)
    scratch = np.empty((min(step, rows), cols), x.dtype)
    eps = np.float32(eps)
    for where in first:
        _block(x[where], weight, eps, out[where], scratch)
    for start in range(64 * step, rows, step):  # a plan has at most 64 slices
        _block(x[start : start + step], weight, eps, out[start : start + step], scratch)
    return out


def _block(part, weight, eps, y, scratch):
    gate = scratch[: len(part)]
    np.multiply(part, part, out=gate)
    scale = gate.mean(axis=1, keepdims=True)
    scale += eps
    np.sqrt(scale, out=scale)
    np.divide(part, scale, out=y)
    y *= weight
    np.negative(y, out=gate)
    np.exp(gate, out=gate)
    gate += 1
    y /= gate
