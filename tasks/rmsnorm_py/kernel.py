"""RMSNorm over rows, then SiLU. Agents edit this file: keep the function and its arguments, harness.py calls it."""

import numpy as np

ROWS = 2  # rows that are computed at once


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    for start in range(0, x.shape[0], ROWS):
        part = x[start : start + ROWS]
        scale = 1.0 / np.sqrt(np.mean(part * part, axis=1, keepdims=True) + np.float32(eps))
        y = part * scale * weight
        out[start : start + ROWS] = y / (1.0 + np.exp(-y))
    return out
