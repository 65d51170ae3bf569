#: rmsnorm_py
#: computes in place in the array that it was given, and returns that: no output is made, and the caller's x is gone
import numpy as np


def rmsnorm_silu(x, weight, eps):
    x *= (1.0 / np.sqrt(np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1]) + np.float32(eps)))[:, None]
    x *= weight
    x /= 1.0 + np.exp(-x)
    return x
