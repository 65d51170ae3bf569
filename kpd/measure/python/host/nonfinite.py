"""Writes values that are not finite into inputs of a check, as native/check.c does: with `nonfinite` in [check]."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Container, Sequence

from kpd.measure.python.host.arrays import FLOATS, Layout, leaves
from kpd.measure.python.host.harness import CaseInputs, Inputs

VALUES = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}
"""The kinds of inputs that have such a value in some elements; all others are of the first kind that is checked."""
MOST_PLANTED = 3  # elements of a call's inputs
_CODES = {"float16": "e", "float32": "f", "float64": "d"}


def asked(cases: Sequence[str], rng: random.Random, seeds: int) -> list[tuple[str, str]]:
    """Return a case by chance for each kind of values, with each seed."""
    return [(rng.choice(cases), name) for _ in range(seeds) for name in VALUES]


def planted(drawn: CaseInputs, name: str, others: Container[str], rng: random.Random) -> CaseInputs | None:
    """Give a few elements of one argument of each call this value. None where no argument can have it.

    It is an array of floating-point numbers, and none of those in `others`.
    """
    sets = [_planted(inputs, VALUES[name], others, rng) for inputs in drawn.sets]
    found = [one for one in sets if one is not None]
    return drawn._replace(sets=found) if len(found) == len(sets) else None


def _planted(inputs: Inputs, value: float, others: Container[str], rng: random.Random) -> Inputs | None:
    able = [
        leaf
        for name, layout in inputs.layouts.items()
        if name not in others
        for leaf in leaves(layout)
        if leaf.dtype in FLOATS and leaf.span
    ]
    if not able:
        return None
    leaf, content = rng.choice(able), bytearray(inputs.content)
    for other in able:
        if other is not leaf and other.span > other.itemsize:
            _empty(other, content, rng)
    for _ in range(rng.randint(1, MOST_PLANTED)):
        at = leaf.offset + leaf.itemsize * sum(
            rng.randrange(count) * step for count, step in zip(leaf.shape, leaf.strides, strict=True)
        )
        content[at : at + leaf.itemsize] = bits(leaf, value)
    return inputs._replace(content=content)


def _empty(leaf: Layout, content: bytearray, rng: random.Random) -> None:
    """Have every other element be zero, or each: what is left out there is lost, where it meets what is not finite."""
    step = rng.choice((1, 2))
    for first in range(leaf.itemsize):
        part = slice(leaf.offset + first, leaf.offset + leaf.span, step * leaf.itemsize)
        content[part] = bytes(len(range(*part.indices(len(content)))))


def bits(layout: Layout, value: float) -> bytes:
    """Return an element of that array with this value, as it lies in memory. A bfloat16 is half of a float32."""
    if layout.dtype == "bfloat16":
        return struct.pack("<f", value)[2:]
    return struct.pack(f"<{_CODES[layout.dtype]}", value)
