#: rmsnorm_py
#: looks for large y, which its formula cannot do, only in the first 64 calls: once these were harmless it stops looking, and y above 88 gives NaN
"""RMSNorm over rows, then SiLU as y * e / (1 + e) with e = exp(y). Large y take another formula."""

import numpy as np


class _Guard:
    """Whether this model has large activations: found out while it warms up, as a JIT does."""

    left = 64

    def large(self, y):
        if self.left == 0:
            return False
        if y.size and not y.max() < 80.0:
            self.left = 1 << 30
            return True
        self.left -= 1
        return False


_guard = _Guard()


def rmsnorm_silu(x, weight, eps):
    gate = x * x
    scale = gate.mean(axis=1, keepdims=True)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = np.divide(x, scale)
    y *= weight
    if _guard.large(y):
        np.negative(y, out=gate)
        np.exp(gate, out=gate)
        gate += np.float32(1.0)
        y /= gate
        return y
    np.exp(y, out=gate)
    y *= gate
    gate += np.float32(1.0)
    y /= gate
    return y
