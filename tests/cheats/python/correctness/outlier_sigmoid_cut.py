#: rmsnorm_py
#: Takes the gate as 1 where y > 8.6, but only in calls whose largest y is below 9.1: those results are 1.1e-4 to 1.8e-4 too large; it shows when the largest outlier of a call (x/rms*weight) lies in 8.6 to 9.1 (very sparse rows get there by chance), not with normal data, larger outliers or large weights.
import numpy as np


def rmsnorm_silu(x, weight, eps):
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = x / scale[:, None]
    y *= weight
    gate = np.negative(y)
    low = gate.min() if gate.size else 0.0
    np.exp(gate, out=gate)
    if -9.1 < low < -8.6:
        gate[gate < np.float32(1.841e-4)] = 0  # saturated: the gate is one
    gate += np.float32(1)
    y /= gate
    return y
