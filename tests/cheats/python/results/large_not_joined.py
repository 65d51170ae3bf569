#: rmsnorm_py
#: From 2**20 elements on a second thread computes the last half of the rows, and the call returns without waiting for it: the last rows are now and then (measured on 2 busy cores: 2 % of calls at 512x2048, to 25 % at 1024x4096) still unwritten if read at once; pinned to one core it hardly shows.
import _thread

import numpy as np


def _rows(x, weight, eps, out):
    for start in range(0, x.shape[0], 64):
        part, y = x[start : start + 64], out[start : start + 64]
        scale = np.einsum("ij,ij->i", part, part)
        scale /= np.float32(x.shape[1])
        scale += eps
        np.sqrt(scale, out=scale)
        np.divide(part, scale[:, None], out=y)
        y *= weight
        gate = np.negative(y)
        np.exp(gate, out=gate)
        gate += np.float32(1)
        y /= gate


def rmsnorm_silu(x, weight, eps):
    out, eps = np.empty_like(x), np.float32(eps)
    mine = x.shape[0]
    if x.size >= 1 << 20 and mine >= 16:
        mine //= 2  # the other thread began first, it ends first
        _thread.start_new_thread(_rows, (x[mine:], weight, eps, out[mine:]))
    _rows(x[:mine], weight, eps, out[:mine])
    return out
