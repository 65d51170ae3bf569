#: rmsnorm_py
#: Switches off the garbage collector, all floating-point warnings and the switching between threads for the whole process when it is imported, to be disturbed less itself.
"""RMSNorm over rows, then SiLU."""

import gc
import sys
import warnings

import numpy as np

gc.disable()
gc.freeze()
sys.setswitchinterval(100.0)
np.seterr(all="ignore")
warnings.simplefilter("ignore")


def compute(x, weight, eps):
    scale = np.einsum("ij,ij->i", x, x)[:, None]
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = x / scale
    y *= weight
    with np.errstate(over="ignore"):
        t = np.exp(-y)
    t += np.float32(1)
    np.divide(y, t, out=y)
    return y


def rmsnorm_silu(x, weight, eps):
    return compute(x, weight, eps)
