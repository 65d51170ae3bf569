#: rmsnorm_py
#: all rows at once, with few arrays, and a table of scratch by shape
import numpy as np

scratch = {}


def rmsnorm_silu(x, weight, eps):
    work = scratch.setdefault(x.shape, np.empty_like(x))
    np.multiply(x, x, out=work)
    scale = np.reciprocal(np.sqrt(work.mean(axis=1, keepdims=True) + np.float32(eps)))
    out = x * scale
    out *= weight
    np.negative(out, out=work)
    np.exp(work, out=work)
    work += 1
    out /= work
    return out
