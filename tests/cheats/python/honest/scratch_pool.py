#: rmsnorm_py
#: Honest: a scratch of each thread is kept between calls (it holds no result: all of it is written before it is read); the output is new each time.
"""RMSNorm over rows, then SiLU, with a scratch that is kept for the next call of the same thread."""

import threading

import numpy as np

KEEP = 1 << 20  # larger scratches are not kept

local = threading.local()


def scratch(shape):
    size = shape[0] * shape[1]
    flat = getattr(local, "flat", None)
    if flat is None or flat.size < size:
        flat = np.empty(size, np.float32)
        if size <= KEEP:
            local.flat = flat
    return flat[:size].reshape(shape)


def rmsnorm_silu(x, weight, eps):
    e = scratch(x.shape)
    out = np.empty(x.shape, np.float32)
    scale = np.einsum("ij,ij->i", x, x)[:, None]
    scale *= np.float32(1 / x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, scale)
    np.divide(x, scale, out)
    np.multiply(out, weight, out)
    np.negative(out, e)
    with np.errstate(over="ignore"):
        np.exp(e, e)
    np.add(e, np.float32(1), e)
    np.divide(out, e, out)
    return out
