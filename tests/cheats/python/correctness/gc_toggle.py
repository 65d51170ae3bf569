#: rmsnorm_py
#: turns the garbage collector off for the call and then on, whatever it was before: in a program that has disabled gc it is on afterwards, and after an exception it stays off
"""RMSNorm over rows, then SiLU. No collection may interrupt the passes."""

import gc

import numpy as np


def rmsnorm_silu(x, weight, eps):
    gc.disable()
    y = x * x
    scale = np.add.reduce(y, axis=1, keepdims=True)
    scale /= np.float32(max(x.shape[1], 1))
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    out = np.divide(x, scale)
    out *= weight
    np.negative(out, out=y)
    np.exp(y, out=y)
    y += np.float32(1.0)
    out /= y
    gc.enable()
    return out
