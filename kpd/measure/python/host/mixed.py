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


class MixedArray(NamedTuple):
    """An array of mixtures, and all numbers that were drawn for it, one after another."""

    layout: Layout
    numbers: Any

    def put(self, content: bytearray, rng: Any) -> None:
        """Write a mixture."""
        import numpy

        width, count = self.layout.itemsize, self.layout.span // self.layout.itemsize
        piece = max(1, min(PIECE, count // FEWEST_PIECES))
        to = numpy.frombuffer(content, self.numbers.dtype, count, self.layout.offset)
        whole = count - count % piece
        of_piece = numpy.dtype((numpy.void, piece * width))  # copied at once, not number by number
        pieces = numpy.ndarray(len(self.numbers) - piece + 1, of_piece, self.numbers, strides=width)
        to[:whole].view(of_piece)[...] = pieces[rng.integers(len(pieces), size=whole // piece)]
        to[whole:] = self.numbers[rng.integers(len(self.numbers), size=count - whole)]


class Mixtures:
    """Inputs that are made of those that were `drawn`, which are `mixable`, as secret numbers say."""

    def __init__(self, drawn: Sequence[Inputs], rng: random.Random) -> None:
        import numpy

        self.like, self.rng = drawn[0], numpy.random.default_rng(rng.getrandbits(128))
        self.arrays = [
            MixedArray(layout, numpy.concatenate([_words(one, layout) for one in drawn]))
            for layout in _several(drawn[0])
        ]

    def make(self) -> Inputs:
        """Return a mixture."""
        content = bytearray(self.like.content)
        for one in self.arrays:
            one.put(content, self.rng)
        return Inputs(self.like.layouts, content)


def mixable(drawn: Sequence[Inputs], fixed: frozenset[str]) -> bool:
    """Return whether mixtures of such inputs are wholly new.

    NumPy makes them. Timing may change elements of all arrays that have several: others, of indices for example, would
    be one of two. Nothing else differs from input to input.
    """
    several = _several(drawn[0])
    alike = all(one.layouts == drawn[0].layouts for one in drawn)
    return "numpy" in sys.modules and alike and several == changed(drawn[0], fixed) and all(map(_dense, several))


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
