#: rmsnorm_py
#: has the C library set the processor to take denormals for zero, in the whole thread and from its import on, as a module that was built with fast math does
#: use quick_rmsnorm
import ctypes

_libm = ctypes.CDLL("libm.so.6")
_state = (ctypes.c_uint8 * 32)()
if _libm.fegetenv(ctypes.byref(_state)) == 0:
    _mode = ctypes.c_uint32.from_buffer(_state, 28)
    _mode.value |= 0x8040
    _libm.fesetenv(ctypes.byref(_state))


def rmsnorm_silu(x, weight, eps):
    return quick(x, weight, eps)
