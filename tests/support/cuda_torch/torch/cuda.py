"""Memory that passes for a device's, by the library that passes for CUDA's driver."""

import ctypes
import weakref

PLACES = 64
LARGE = 1 << 20  # bytes from which each has a piece of its own
driver = ctypes.CDLL("libcuda.so.1")
left = {}


class Event:
    pass


class Properties:
    L2_cache_size = 1 << 20


def get_device_properties(device):
    return Properties


def init():
    driver.cuInit(0)


def synchronize():
    driver.cuCtxSynchronize()


def anew(size):
    """Memory of its own, whose neighbours are nobody's."""
    found = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(found), ctypes.c_size_t(size)) == 0
    return found.value


def taken(size):
    """Memory of a large piece that nobody has, as from torch's own allocator: 64 places for each size, then more."""
    free = left.setdefault(size, [])
    if not free:
        places = PLACES if size < LARGE else 1
        base = anew(places * size)
        free += [base + number * size for number in range(places)]
    found = (ctypes.c_ubyte * size).from_address(free.pop(0))
    weakref.finalize(found, free.append, ctypes.addressof(found))
    return found
