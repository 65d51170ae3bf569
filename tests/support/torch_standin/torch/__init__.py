"""Tensors on numpy: see the README beside this package."""

import numpy as np

from torch import cuda

float16, bfloat16, float32, float64, uint8 = np.float16, np.float16, np.float32, np.float64, np.uint8

__all__ = ["Generator", "Tensor", "cuda", "empty_like", "equal", "exp", "frombuffer", "randn", "rsqrt", "sigmoid"]


class Tensor:
    device = "cuda:0"

    def __init__(self, array):
        self.array = np.asarray(array)

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype.type)

    def to(self, what):
        return self if isinstance(what, str) else Tensor(self.array.astype(what))

    def view(self, *shape):
        return Tensor(self.array.reshape(*shape))

    def mean(self, dim, keepdim):
        return Tensor(self.array.mean(axis=dim, keepdims=keepdim))

    def clamp(self, low, high):
        return Tensor(self.array.clip(low, high))

    def expand(self, *shape):
        return Tensor(np.broadcast_to(self.array, shape))

    def pow(self, power):
        return Tensor(self.array**power)

    def nonzero(self):
        return Tensor(np.argwhere(self.array))

    def copy_(self, other):
        self.array[...] = other.array
        return self

    def cpu(self):
        return self

    def float(self):
        return self.to(float32)

    def contiguous(self):
        return Tensor(np.ascontiguousarray(self.array))

    def clone(self):
        return Tensor(self.array.copy())

    def numel(self):
        return self.array.size

    def element_size(self):
        return self.array.itemsize

    def data_ptr(self):
        return self.array.ctypes.data

    def abs(self):
        return Tensor(abs(self.array))

    def square(self):
        return Tensor(self.array**2)

    def any(self):
        return bool(self.array.any())

    def sum(self):
        return self.array.sum()

    def item(self):
        return self.array.item()

    def tolist(self):
        return self.array.tolist()

    def __getitem__(self, at):
        return Tensor(self.array[at])

    def __invert__(self):
        return Tensor(~self.array)


def _binary(name):
    def method(self, other):
        return Tensor(getattr(self.array, name)(other.array if isinstance(other, Tensor) else other))

    return method


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "le"):
    setattr(Tensor, f"__{_name}__", _binary(f"__{_name}__"))


class Generator:
    def __init__(self, device):
        self.random = np.random.default_rng()

    def manual_seed(self, seed):
        self.random = np.random.default_rng(seed)


def randn(*shape, generator, device, dtype):
    return Tensor(generator.random.standard_normal(shape, dtype))


def frombuffer(buffer, dtype):
    return Tensor(np.frombuffer(buffer, dtype))


def empty_like(x):
    return Tensor(np.empty_like(x.array))


def equal(a, b):
    return a.shape == b.shape and bool((a.array == b.array).all())


def exp(x):
    return Tensor(np.exp(x.array))


def rsqrt(x):
    return Tensor(1 / np.sqrt(x.array))


def sigmoid(x):
    return Tensor(1 / (1 + np.exp(-x.array)))
