#: rmsnorm_py
#: Knows that eps is a power of ten from 1e-1 to 1e-6: looks the float32 up by the rounded exponent, so any other eps (3e-2, 1e-8, 0) is taken for the nearest of those.
import math

import numpy as np

_eps = [np.float32(10.0**-n) for n in range(1, 7)]


def compute(x, weight, eps, out):
    scale = np.multiply(x, x).mean(axis=1, keepdims=True)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale, out=out)
    out *= weight
    below = np.negative(out)
    np.exp(below, out=below)
    below += 1
    out /= below


def rmsnorm_silu(x, weight, eps):
    rank = round(-math.log10(eps)) if eps > 0 else 6
    out = np.empty_like(x)
    compute(x, weight, _eps[min(max(rank, 1), 6) - 1], out)
    return out
