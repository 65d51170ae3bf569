"""Draws inputs for a harness, from a secret seed."""

from __future__ import annotations

import array
import math
import random
import sys
from collections.abc import Sequence
from typing import Any

from kpd.measure.python.host.arrays import CODES, GREATEST

LEAST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


class Draw:
    """Draws arrays of one `kind` of values: normal, constant, heavy_tail, denormal or large.

    Arrays are NumPy's where the harness has imported it, else flat ones of Python's own. `random` is for all else that
    a harness draws; it follows from the same seed.
    """

    def __init__(self, seed: int, kind: str) -> None:
        self.kind = kind
        self.random = random.Random(seed)
        numpy = sys.modules.get("numpy")
        self._numpy = None if numpy is None else numpy.random.default_rng(self.random.getrandbits(64))

    def values(self, *shape: int, dtype: str = "float32") -> Any:
        """Draw an array of numbers of this kind."""
        if self._numpy is None:
            return array.array(CODES[dtype], self._listed(math.prod(shape), dtype))
        return self._vector(math.prod(shape), dtype).astype(dtype).reshape(shape)

    def integers(self, low: int, high: int, *shape: int, dtype: str = "int32") -> Any:
        """Draw an array of whole numbers from `low` to `high`, without `high`; one value where the kind is constant."""
        count = math.prod(shape)
        if self.kind == "constant":
            drawn = [self.random.randrange(low, high)] * count
        elif self._numpy is not None:
            return self._numpy.integers(low, high, shape, dtype=dtype)
        else:
            drawn = [self.random.randrange(low, high) for _ in range(count)]
        if self._numpy is None:
            return array.array(CODES[dtype], drawn)
        return sys.modules["numpy"].array(drawn, dtype=dtype).reshape(shape)

    def _constant(self) -> float:
        return self.random.choice((-1.0, 1.0)) * (0.5 + 1.5 * self.random.random())

    def _vector(self, count: int, dtype: str) -> Any:
        numpy, rng = sys.modules["numpy"], self._numpy
        assert rng is not None
        signs = rng.integers(0, 2, count) * 2.0 - 1.0
        if self.kind == "constant":
            return numpy.full(count, self._constant())
        if self.kind == "heavy_tail":
            return signs * numpy.minimum(numpy.exp(2.65 * rng.standard_normal(count)), GREATEST[dtype])
        if self.kind == "denormal":
            tiny = signs * rng.random(count) * LEAST_NORMAL[dtype]
            return numpy.where(rng.random(count) < 0.5, tiny, rng.standard_normal(count))
        if self.kind == "large":
            least, factor = _large(dtype)
            return signs * least * numpy.exp(factor * rng.random(count))
        return rng.standard_normal(count)

    def _listed(self, count: int, dtype: str) -> Sequence[float]:
        drawn, constant = self.random, self._constant()
        least, factor = _large(dtype)

        def one() -> float:
            sign = drawn.choice((-1.0, 1.0))
            if self.kind == "constant":
                return constant
            if self.kind == "heavy_tail":
                return sign * min(math.exp(2.65 * drawn.gauss(0.0, 1.0)), GREATEST[dtype])
            if self.kind == "denormal" and drawn.random() < 0.5:
                return sign * drawn.random() * LEAST_NORMAL[dtype]
            if self.kind == "large":
                return sign * least * math.exp(factor * drawn.random())
            return drawn.gauss(0.0, 1.0)

        return [one() for _ in range(count)]


def _large(dtype: str) -> tuple[float, float]:
    """Return the least of the large values, and the logarithm of the greatest over it."""
    return (256.0, 4.8) if GREATEST[dtype] < 1e6 else (1e6, 13.8)
