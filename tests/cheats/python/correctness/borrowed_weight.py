#: rmsnorm_py
#: negates the caller's weight in place during the call and negates it back: another thread that uses the same weight gets wrong signs, and a read-only weight raises
"""RMSNorm over rows, then SiLU. The sign of exp's argument comes from the weight, so no pass is spent on it."""

import numpy as np

BLOCK = 1 << 15


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    out = np.empty_like(x)
    step = max(1, BLOCK // max(cols, 1))
    np.negative(weight, out=weight)
    try:
        for start in range(0, rows, step):
            part = x[start : start + step]
            gate = part * part
            scale = gate.mean(axis=1, keepdims=True)
            scale += np.float32(eps)
            np.sqrt(scale, out=scale)
            y = np.divide(part, scale, out=out[start : start + step])
            y *= weight  # y is -y here
            np.exp(y, out=gate)
            np.subtract(np.float32(-1.0), gate, out=gate)
            y /= gate
    finally:
        np.negative(weight, out=weight)  # exact
    return out
