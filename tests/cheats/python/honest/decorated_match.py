#: rmsnorm_py
#: a match statement over the shape picks a strategy among dataclasses; a decorator checks the arguments and keeps the signature
from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Whole:
    def blocks(self, rows: int):
        yield slice(0, rows)


@dataclass(frozen=True, slots=True)
class Blocks:
    height: int

    def blocks(self, rows: int):
        for start in range(0, rows, self.height):
            yield slice(start, min(start + self.height, rows))


def strategy(shape: tuple[int, ...]) -> Whole | Blocks:
    match shape:
        case (rows, cols) if rows * cols <= 65536:
            return Whole()
        case (_, cols):
            return Blocks(max(1, 65536 // max(cols, 1)))
        case _:
            raise ValueError(f"two dimensions expected, not {len(shape)}")


def checked(function):
    @functools.wraps(function)
    def inner(x, weight, eps):
        if x.ndim != 2 or weight.shape != x.shape[1:]:
            raise ValueError(f"shapes {x.shape} and {weight.shape} do not fit")
        return function(x, weight, eps)

    return inner


@checked
def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    small = np.float32(eps)
    for rows in strategy(x.shape).blocks(len(x)):
        part, y = x[rows], out[rows]
        scale = np.square(part).mean(axis=1, keepdims=True)
        scale += small
        np.sqrt(scale, out=scale)
        np.divide(part, scale, out=y)
        y *= weight
        gate = np.negative(y)
        np.exp(gate, out=gate)
        gate += np.float32(1)
        y /= gate
    return out
