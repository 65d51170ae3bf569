"""Makes inputs that are wholly new from a few that were drawn: that is far quicker than to draw all their numbers.

Each array is put together from short pieces, each of which begins anywhere in the same array of one that was drawn. A
kernel sees these mixtures only, never what they are made of: so it cannot tell what a piece is without reading it.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.harness import Inputs, changed

DRAWN = 2  # inputs that mixtures are made of
PIECE, FEWEST_PIECES = 127, 64  # elements of a piece at most, and pieces of an array at least, if it has as many
GOLDEN, SHIFTS, FACTORS = 0x9E3779B97F4A7C15, (30, 27, 31), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SINGLE = 1 << 40  # what a value behind the last whole piece adds to its place


class MixedArray(NamedTuple):
    """An array of mixtures, and all numbers that were drawn for it, one after another."""

    layout: Layout
    numbers: Any

    @property
    def many(self) -> int:
        """Its elements."""
        return self.layout.span // self.layout.itemsize

    @property
    def piece(self) -> int:
        """The elements of a piece."""
        return max(1, min(PIECE, self.many // FEWEST_PIECES))

    @property
    def whole(self) -> int:
        """The elements of all whole pieces: those after them are drawn one by one."""
        return self.many - self.many % self.piece

    @property
    def begins(self) -> int:
        """At so many numbers a piece can begin."""
        return len(self.numbers) - self.piece + 1

    def put(self, content: bytearray, seed: int) -> None:
        """Write the mixture of a seed."""
        import numpy

        width, many, whole, piece = self.layout.itemsize, self.many, self.whole, self.piece
        to = numpy.frombuffer(content, self.numbers.dtype, many, self.layout.offset)
        of_piece = numpy.dtype((numpy.void, piece * width))  # copied at once, not number by number
        pieces = numpy.ndarray(self.begins, of_piece, self.numbers, strides=width)
        to[:whole].view(of_piece)[...] = pieces[_below(self.begins, seed, numpy.arange(whole // piece))]
        to[whole:] = self.numbers[_below(len(self.numbers), seed, SINGLE + numpy.arange(whole, many))]


def _below(most: int, seed: int, keys: Any) -> Any:
    """Return a number below `most` for each key, as SplitMix64 draws them (its numbers come from the seed in steps)."""
    import numpy

    with numpy.errstate(over="ignore"):
        bits = keys.astype("uint64") * numpy.uint64(GOLDEN) + numpy.uint64(seed)
        for shift, factor in zip(SHIFTS, (*FACTORS, 1), strict=True):
            bits = (bits ^ bits >> numpy.uint64(shift)) * numpy.uint64(factor)
    return (bits >> numpy.uint64(32)) * numpy.uint64(most) >> numpy.uint64(32)


class Mixtures:
    """Inputs that are made of those that were `drawn`, which are `mixable`, as secret numbers say."""

    def __init__(self, drawn: Sequence[Inputs], rng: random.Random) -> None:
        import numpy

        self.like, self.rng = drawn[0], rng
        self.arrays = [
            MixedArray(layout, numpy.concatenate([_words(one, layout) for one in drawn]))
            for layout in _several(drawn[0])
        ]

    def seeds(self) -> list[int]:
        """Draw what a mixture is, for each of its arrays."""
        return [self.rng.getrandbits(64) for _ in self.arrays]

    def write(self, content: bytearray, seeds: Sequence[int]) -> None:
        """Write the mixture of these seeds over inputs; arrays of one element stay as they are there."""
        for one, seed in zip(self.arrays, seeds, strict=True):
            one.put(content, seed)

    def make(self, like: Inputs | None = None) -> Inputs:
        """Return a mixture, with the plain numbers and arrays of one element of `like`; None: of the first drawn."""
        like = like or self.like
        content = bytearray(like.content)
        self.write(content, self.seeds())
        return Inputs(like.layouts, content)


def mixable(drawn: Sequence[Inputs], fixed: frozenset[str]) -> bool:
    """Return whether mixtures of such inputs are wholly new.

    NumPy makes them. Timing may change elements of all arrays that have several: others, of indices for example, would
    be one of two. Of all else only plain floats may differ from input to input: a mixture has those of one.
    """
    several = _several(drawn[0])
    alike = all(_typed(one) == _typed(drawn[0]) for one in drawn)
    return "numpy" in sys.modules and alike and several == changed(drawn[0], fixed) and all(map(_dense, several))


def _typed(inputs: Inputs) -> list[Any]:
    """Return the layouts of all arguments, with its type alone in the place of a float."""
    return [float if type(layout) is float else layout for layout in inputs.layouts.values()]


def _several(inputs: Inputs) -> list[Layout]:
    """Return the arrays of several elements."""
    leaves = (leaf for layout in inputs.layouts.values() for leaf in arrays.leaves(layout))
    return [leaf for leaf in leaves if leaf.span > leaf.itemsize]


def _dense(layout: Layout) -> bool:
    """Return whether nothing lies between the elements: that would get among them."""
    dims = zip(layout.shape, layout.strides, strict=True)
    return layout.span <= layout.itemsize * math.prod(many for many, step in dims if step)


def _words(inputs: Inputs, layout: Layout) -> Any:
    """Return the elements of an array as whole numbers of as many bytes."""
    import numpy

    count = layout.span // layout.itemsize
    return numpy.frombuffer(inputs.content, f"uint{8 * layout.itemsize}", count, layout.offset)
