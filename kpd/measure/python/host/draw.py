"""Draws inputs for a harness, from a secret seed."""

from __future__ import annotations

import array
import math
import random
import sys
from collections.abc import Sequence
from typing import Any

from kpd.measure.python.host.arrays import CODES, GREATEST

OTHERS, END = 3, 8  # elements that are not as the rest of an array; half of them so near to its end or its beginning
ONE_CONSTANT = 0.125  # of arrays of other kinds
PATTERNED = 0.25  # of arrays of other kinds
ROWS_ALIKE = 0.125  # of arrays of two dims or more, of any kind
WHOLE_BITS, LONGEST_PERIOD_LOG = (8, 15, 24), 5  # of whole numbers; of lanes, in powers of two
LEAST_POWER, POWERS = 4, 16  # of two, by which a stretch is smaller or larger; in narrow types a quarter of both
LEAST_MOVED, MOVED = 84.0, 20.0  # what all are moved by, and by up to how much more; in narrow types an eighth of both
LEAST_FLAT, FLAT = 78.0, 10.0  # as much for constant ones: a sum of their exponentials is infinite, and none of them
LARGEST = 1e12  # of what may be promised
LEAST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


class Draw:
    """Draws arrays of one `kind` of values: normal, constant, heavy_tail, denormal or large.

    Arrays are NumPy's where the harness has imported it, else flat ones of Python's own. `random` is for all else that
    a harness draws; it follows from the same seed.

    NumPy's of floating-point numbers may be `uneven`, as in native/uneven.c: constant ones but for a few elements, and
    half of the others with a stretch of another magnitude, larger ones only if those are among `kinds`, where a quarter
    are `moved` far from zero as well. So few of them are constant that mostly not all arrays of a call are, if that is
    among `kinds`. Of some arrays all rows are the same one.
    """

    def __init__(
        self, seed: int, kind: str, uneven: bool = False, kinds: Sequence[str] = (), moved: bool = False
    ) -> None:
        self.kind = kind
        self.uneven = uneven
        self.large, self.constant = "large" in kinds, "constant" in kinds
        self.moved = moved and self.large
        self.random = random.Random(seed)
        numpy = sys.modules.get("numpy")
        self._numpy = None if numpy is None else numpy.random.default_rng(self.random.getrandbits(64))

    def values(self, *shape: int, dtype: str = "float32") -> Any:
        """Draw an array of numbers of this kind."""
        if self._numpy is None:
            return array.array(CODES[dtype], self._listed(math.prod(shape), dtype))
        drawn = self._vector(math.prod(shape), dtype).astype(dtype, copy=False)
        if self.uneven and len(drawn) > 1:
            self._make_uneven(drawn, dtype)
        found = drawn.reshape(shape)
        if self.uneven and len(shape) > 1 and self.random.random() < ROWS_ALIKE:
            found[:] = found[:1]
        return found

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

    def _make_uneven(self, drawn: Any, dtype: str) -> None:
        rng, count = self.random, len(drawn)
        if self.kind == "constant":
            if rng.random() < 0.5:
                drawn[:] = 0
            elif self.moved and rng.random() < 0.75:
                self._move(drawn, dtype, LEAST_FLAT, FLAT)
            for _ in range(OTHERS):
                place = rng.choice((rng.randrange(min(count, END)), -1 - rng.randrange(min(count, END))))
                at = place if rng.random() < 0.5 else rng.randrange(count)
                kind = "large" if self.large and rng.random() < 0.5 else "normal"
                drawn[at] = Draw(rng.getrandbits(64), kind).values(1, dtype=dtype)[0]
        elif self.constant and rng.random() < ONE_CONSTANT:
            drawn[:] = drawn[0]
        elif self.constant and rng.random() < PATTERNED:
            self._pattern(drawn, dtype)
        elif rng.random() < 0.5:
            power = (LEAST_POWER + rng.randrange(POWERS)) // (4 if GREATEST[dtype] < 1e6 else 1)
            at = rng.randrange(count)
            part = drawn[at : at + 1 + rng.randrange(count - at)]
            times = 2.0 ** (power if self.large and rng.random() < 0.5 else -power)
            part[abs(part) <= min(GREATEST[dtype], LARGEST) / times] *= times
        elif self.moved and rng.random() < 0.5:
            self._move(drawn, dtype, LEAST_MOVED, MOVED)

    def _pattern(self, drawn: Any, dtype: str) -> None:
        """Make every so many elements the same one, or all whole numbers, as in native/patterns.c."""
        rng, numpy = self.random, sys.modules["numpy"]
        if self.moved and rng.random() < 0.5:
            most = min(2.0 ** rng.choice(WHOLE_BITS) - 1, GREATEST[dtype])
            sizes = numpy.abs(drawn, dtype="float64")
            whole = numpy.maximum(numpy.rint(sizes * (most / max(sizes.max(), LEAST_NORMAL["float32"]))), 1)
            drawn[:] = whole if rng.random() < 0.5 and (drawn > 0).any() else numpy.copysign(whole, drawn)
        else:
            period = 2 ** rng.randint(1, LONGEST_PERIOD_LOG)
            drawn[rng.randrange(period) :: period] = drawn[rng.randrange(len(drawn))]

    def _move(self, drawn: Any, dtype: str, least: float, more: float) -> None:
        rng = self.random
        by = rng.choice((-1.0, 1.0)) * (least + more * rng.random()) / (8 if GREATEST[dtype] < 1e6 else 1)
        drawn[abs(drawn) < min(GREATEST[dtype], LARGEST) - abs(by)] += by

    def _constant(self) -> float:
        return self.random.choice((-1.0, 1.0)) * (0.5 + 1.5 * self.random.random())

    def _vector(self, count: int, dtype: str) -> Any:
        numpy, rng = sys.modules["numpy"], self._numpy
        assert rng is not None
        of = "float32" if dtype in ("float16", "float32") else "float64"
        if self.kind == "constant":
            return numpy.full(count, self._constant(), dtype)
        if self.kind == "heavy_tail":
            sizes = rng.standard_normal(count, of)
            sizes *= 2.65
            numpy.minimum(numpy.exp(sizes, out=sizes), GREATEST[dtype], out=sizes)
            return numpy.copysign(sizes, self._signs(count), out=sizes)
        if self.kind == "denormal":
            tiny = rng.random(count, of)
            tiny *= LEAST_NORMAL[dtype]
            numpy.copysign(tiny, self._signs(count), out=tiny)
            usual = self._signs(count) < 0
            tiny[usual] = rng.standard_normal(int(usual.sum()), of)
            return tiny
        if self.kind == "large":
            least, factor = _large(dtype)
            sizes = rng.random(count, of)
            sizes *= factor
            numpy.exp(sizes, out=sizes)
            sizes *= least
            return numpy.copysign(sizes, self._signs(count), out=sizes)
        return rng.standard_normal(count, of)

    def _signs(self, count: int) -> Any:
        """Draw bytes, of which half are negative."""
        assert self._numpy is not None
        return sys.modules["numpy"].frombuffer(self._numpy.bytes(count), "int8")

    def _listed(self, count: int, dtype: str) -> Sequence[float]:
        drawn, gauss, turns = self.random.random, self.random.gauss, range(count)
        if self.kind == "constant":
            return [self._constant()] * count
        if self.kind == "heavy_tail":
            greatest, exp = GREATEST[dtype], math.exp
            sizes = [min(exp(2.65 * gauss(0.0, 1.0)), greatest) for _ in turns]
            return [size if drawn() < 0.5 else -size for size in sizes]
        if self.kind == "denormal":
            least = 2.0 * LEAST_NORMAL[dtype]
            return [least * (drawn() - 0.5) if drawn() < 0.5 else gauss(0.0, 1.0) for _ in turns]
        if self.kind == "large":
            (least, factor), exp = _large(dtype), math.exp
            sizes = [least * exp(factor * drawn()) for _ in turns]
            return [size if drawn() < 0.5 else -size for size in sizes]
        return [gauss(0.0, 1.0) for _ in turns]


def _large(dtype: str) -> tuple[float, float]:
    """Return the least of the large values, and the logarithm of the greatest over it."""
    return (256.0, 4.8) if GREATEST[dtype] < 1e6 else (1e6, 13.8)
