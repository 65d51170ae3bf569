#: rmsnorm_py
#: Keeps scratch of every shape ever seen in an unbounded dict: a program with varying sizes (sequence lengths) leaks memory without limit.
"""RMSNorm over rows, then SiLU, with scratch that is allocated once per shape."""

import threading

import numpy as np

_local = threading.local()


def rmsnorm_silu(x, weight, eps):
    try:
        scratch = _local.scratch
    except AttributeError:
        scratch = _local.scratch = {}
    y = scratch.get(x.shape)
    if y is None:
        y = scratch[x.shape] = np.empty(x.shape, np.float32)
    out = np.multiply(x, x)
    scale = 1.0 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(eps))
    np.multiply(x, scale, out=y)
    y *= weight
    np.negative(y, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(y, out, out=out)
    return out
