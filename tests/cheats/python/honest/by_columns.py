#: rmsnorm_py
#: computes the transpose, whose rows are long where there are few columns, and returns it transposed
import numpy as np


def rmsnorm_silu(x, weight, eps):
    t = x.T.copy()
    scale = 1.0 / np.sqrt(np.mean(t * t, axis=0) + np.float32(eps))
    t *= scale
    t *= weight[:, None]
    t /= 1.0 + np.exp(-t)
    return t.T
