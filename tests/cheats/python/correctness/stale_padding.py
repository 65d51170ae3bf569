#: rmsnorm_py
#: Pads rows to 64 columns in a kept scratch that is zeroed only when allocated: after a call with more columns of the same padded width, stale columns enter the mean (results depend on earlier calls).
"""RMSNorm over rows, then SiLU, on rows padded to whole vectors."""

import numpy as np

LANES = 64
_padded = np.zeros((0, 0), np.float32)


def rmsnorm_silu(x, weight, eps):
    global _padded
    rows, cols = x.shape
    shape = rows, -(-cols // LANES) * LANES
    if _padded.shape != shape:
        _padded = np.zeros(shape, np.float32)
    _padded[:, :cols] = x
    total = np.add.reduce(_padded * _padded, axis=1, keepdims=True)
    scale = 1.0 / np.sqrt(total / np.float32(cols) + np.float32(eps))
    y = x * scale
    y *= weight
    out = np.negative(y)
    np.exp(out, out=out)
    out += 1.0
    np.divide(y, out, out=out)
    return out
