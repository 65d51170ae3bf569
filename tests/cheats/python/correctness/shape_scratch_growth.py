#: rmsnorm_py
#: Keeps a scratch array for every shape it has ever seen: with rows or cols that vary (lengths of sequences), memory grows by rows*cols*4 bytes for each new shape and is never given back; with one shape nothing grows.
import functools

import numpy as np


@functools.lru_cache(maxsize=None)
def _scratch(rows, cols):
    return np.empty((rows, cols), np.float32), np.empty((rows, 1), np.float32)


def rmsnorm_silu(x, weight, eps):
    gate, scale = _scratch(*x.shape)
    np.multiply(x, x, out=gate)
    np.mean(gate, axis=1, keepdims=True, out=scale)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    out = x / scale
    out *= weight
    np.negative(out, out=gate)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    out /= gate
    return out
