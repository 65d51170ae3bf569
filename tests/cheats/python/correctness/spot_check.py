#: rmsnorm_py
#: samples 32 elements with the program's global np.random to choose the formula: results are by chance (NaN where a large y was not drawn), and the user's seeded random stream moves with every call
"""RMSNorm over rows, then SiLU. The short formula where y is moderate, which a sample tells."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    gate = x * x
    scale = gate.mean(axis=1, keepdims=True)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = np.divide(x, scale)
    y *= weight
    flat = y.ravel()
    if flat.size and np.abs(flat[np.random.randint(0, flat.size, 32)]).max() < 24.0:
        np.exp(y, out=gate)
        y *= gate
        gate += np.float32(1.0)
        y /= gate
        return y
    np.negative(y, out=gate)
    np.exp(gate, out=gate)
    gate += np.float32(1.0)
    y /= gate
    return y
