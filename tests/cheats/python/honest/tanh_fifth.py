#: rmsnorm_py
#: Honest: SiLU as h + h*tanh(h) with h = y/2, so that nothing overflows; all rows at once.
import numpy as np


def rmsnorm_silu(x, weight, eps):
    out = np.multiply(x, x)
    scale = out.mean(axis=1, keepdims=True)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(np.float32(0.5), scale, out=scale)
    half = np.multiply(x, scale)
    half *= weight
    np.tanh(half, out=out)
    out *= half
    out += half
    return out
