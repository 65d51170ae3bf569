#: rmsnorm_py
#: aligned scratch cut from a bytearray by a memoryview, a warm table of 1 / cols, and a dot product for each mean
from __future__ import annotations

import numpy as np

ALIGN = 64

# 1 / n for the usual widths; wider ones are divided.
RECIPROCALS = np.zeros(8193, np.float32)
RECIPROCALS[1:] = 1.0 / np.arange(1, 8193, dtype=np.float64)


class Arena:
    """A growing piece of memory whose address is a multiple of 64."""

    __slots__ = ("_floats", "_view")

    def __init__(self, floats: int = 1 << 16) -> None:
        self.grow(floats)

    def grow(self, floats: int) -> None:
        raw = memoryview(bytearray(4 * floats + ALIGN))
        shift = -np.frombuffer(raw, np.uint8).ctypes.data % ALIGN
        self._view = np.frombuffer(raw[shift : shift + 4 * floats], np.float32)
        self._floats = floats

    def take(self, shape: tuple[int, int]) -> np.ndarray:
        floats = shape[0] * shape[1]
        if floats > self._floats:
            self.grow(2 * floats)
        return self._view[:floats].reshape(shape)


arena = Arena()


def rmsnorm_silu(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    rows, cols = x.shape
    inverse = RECIPROCALS[cols] if cols < len(RECIPROCALS) else np.float32(1.0 / cols)
    total = np.matmul(x[:, None, :], x[:, :, None]).reshape(rows, 1)
    total *= inverse
    total += np.float32(eps)
    np.sqrt(total, out=total)
    out = x / total
    out *= weight
    e = arena.take((rows, cols))
    np.negative(out, out=e)
    np.exp(e, out=e)
    e += np.float32(1)
    out /= e
    return out
