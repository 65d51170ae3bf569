#: rmsnorm_py
#: Switches the thread's processor to flush denormals to zero (fesetenv with another MXCSR) and never back: this result stays within tolerance, but all other code of the process loses its denormals.
"""RMSNorm over rows, then SiLU. Denormals, which cost a hundred cycles each, count as zero: they are far below the tolerance."""

import ctypes
import ctypes.util
import platform
import threading

import numpy as np

FTZ_DAZ = 0x8040
local = threading.local()


def fast_mode():
    local.fast = True
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    try:
        libm = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
        state = (ctypes.c_uint32 * 8)()
        if libm.fegetenv(ctypes.byref(state)) == 0:
            state[7] |= FTZ_DAZ  # MXCSR
            libm.fesetenv(ctypes.byref(state))
    except (OSError, AttributeError):
        pass


def rmsnorm_silu(x, weight, eps):
    if not hasattr(local, "fast"):
        fast_mode()
    scale = np.einsum("ij,ij->i", x, x)
    scale *= np.float32(1 / x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(np.float32(-1), scale, out=scale)
    z = x * scale[:, None]
    z *= weight
    with np.errstate(over="ignore"):
        gate = np.exp(z)
    np.subtract(np.float32(-1), gate, out=gate)
    z /= gate
    return z
