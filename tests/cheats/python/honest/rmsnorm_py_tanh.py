#: rmsnorm_py
#: Honest: silu(y) = y/2 + y/2 * tanh(y/2), so there is no division and nothing overflows; half of the weight is folded into the scale.
import numpy as np


def rmsnorm_silu(x, weight, eps):
    mean = np.square(x).mean(axis=1, keepdims=True)
    mean += np.float32(eps)
    half = x * (np.float32(0.5) / np.sqrt(mean))
    half *= weight
    out = np.tanh(half)
    out *= half
    out += half
    return out
