"""Passes for torch with a GPU: tensors on NumPy, those of the device in memory of the library that passes for CUDA's.

Only what kpd's worker and the kernels of tests use is there. Kernels compute with `tensor.array`.
"""

import ctypes
import math
import sys
from typing import NamedTuple

import numpy as np

from . import cuda, nn


class dtype(NamedTuple):  # noqa: N801  # as torch names it
    name: str

    def __repr__(self):
        return f"torch.{self.name}"


float16, float32, float64, uint8, int32 = map(dtype, ("float16", "float32", "float64", "uint8", "int32"))


class Tensor:
    def __init__(self, array, on_device=False):
        self.array, self.is_cuda = array, on_device

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: getattr(sys.modules[__name__], self.array.dtype.name))

    def stride(self):
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def element_size(self):
        return self.array.itemsize

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def copy_(self, other):
        self.array[...] = other.array
        return self

    def zero_(self):
        self.array[...] = 0
        return self

    def detach(self):
        return self

    def t(self):
        return Tensor(self.array.T, self.is_cuda)

    def view(self, kind):
        return Tensor(self.array.view(kind.name), self.is_cuda)


nn.Parameter = type("Parameter", (Tensor,), {})


def set_num_threads(many):
    """It has none."""


def get_num_threads():
    return 1


def get_default_dtype():
    return float32


def is_grad_enabled():
    return True


def get_rng_state():
    return np.zeros(8, "uint8")


def from_numpy(array):
    return Tensor(array)


def frombuffer(buffer, dtype):
    return Tensor(np.frombuffer(buffer, dtype.name))


def as_strided(tensor, shape, strides):
    steps = [step * tensor.element_size() for step in strides]
    return Tensor(np.lib.stride_tricks.as_strided(tensor.array, shape, steps), tensor.is_cuda)


def at(address, size):
    """A tensor of bytes of the device's memory."""
    return Tensor(np.frombuffer((ctypes.c_ubyte * size).from_address(address), np.uint8), True)


def as_tensor(piece, device):
    about = piece.__cuda_array_interface__
    return at(about["data"][0], *about["shape"])


def empty(shape, dtype=float32, device="cpu"):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(shape) * np.dtype(dtype.name).itemsize
    if device == "cpu" or not size:
        return Tensor(np.empty(shape, dtype.name), device != "cpu")
    flat = Tensor(np.frombuffer(cuda.taken(size), np.uint8), True).view(dtype)
    return Tensor(flat.array.reshape(shape), True)
