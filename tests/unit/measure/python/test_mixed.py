"""Inputs that are made of pieces of others are wholly new, and as right as those."""

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import FEWEST_PIECES, PIECE, Mixtures, mixable

NONE = frozenset[str]()
COUNT = 10_001


def drawn(number: int, **values: Any) -> Inputs:
    """Inputs with an array of numbers that no other has, and such values besides."""
    values = {"x": np.arange(COUNT, dtype="float32") + number * COUNT, **values}
    layouts, at = dict[str, Any](), 64
    for name, value in values.items():
        layouts[name], at = arrays.placed(value, at, 64)
    content = bytearray(b"\xa5" * (at + 64))
    for name, layout in layouts.items():
        for leaf, one in zip(arrays.leaves(layout), arrays.leaves(values[name]), strict=True):
            arrays.put(one, leaf, memoryview(content))
    return Inputs(layouts, content)


def two(**values: Any) -> list[Inputs]:
    return [drawn(number, **values) for number in range(2)]


def test_a_mixture_has_pieces_of_all_that_was_drawn_at_places_of_its_own() -> None:
    mixtures = Mixtures(two(), random.Random(1))
    made = [mixtures.make().values()["x"] for _ in range(3)]
    for one in made:
        assert one.shape == (COUNT,)
        assert set(one) <= set(range(2 * COUNT))
        assert 0.3 < (one < COUNT).mean() < 0.7
        breaks = [after for before, after in pairwise(one) if after != before + 1]
        assert COUNT // PIECE - 3 < len(breaks) <= COUNT // PIECE + PIECE
        assert len({int(value) % PIECE for value in breaks}) > PIECE // 3, "pieces begin anywhere"
    for one, other in pairwise(made):
        assert (one == other).mean() < 0.01


def test_a_mixture_leaves_guards_and_plain_values_alone() -> None:
    (like, other) = two(eps=1e-6)
    made = Mixtures([like, other], random.Random(1)).make()
    layout = like.layouts["x"]
    assert made.layouts == like.layouts
    assert made.content[: layout.offset] == like.content[: layout.offset]
    assert made.content[layout.offset + layout.span :] == like.content[layout.offset + layout.span :]


@pytest.mark.parametrize("count", [2, 3, FEWEST_PIECES - 1, FEWEST_PIECES, 2 * FEWEST_PIECES + 1, PIECE, 1000])
def test_short_arrays_have_short_pieces(count: int) -> None:
    """Of one piece as long as the array there would be no more than what was drawn."""
    mixtures = Mixtures(two(w=np.random.default_rng(1).standard_normal(count)), random.Random(1))
    made = {mixtures.make().values()["w"].tobytes() for _ in range(40)}
    assert len(made) > (2 if count < 4 else 30)


def test_equal_seeds_make_equal_mixtures_and_others_do_not() -> None:
    one, same, other = (Mixtures(two(), random.Random(seed)).make().content for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    ("values", "fixed", "can"),
    [
        ({}, NONE, True),
        ({"eps": 1e-6, "names": ["a"], "scale": np.ones(1)}, NONE, True),
        ({"parts": [np.ones(8), np.ones((4, 4)).T]}, NONE, True),
        ({"at": np.arange(8)}, NONE, False),
        ({"w": np.ones(8)}, frozenset({"w"}), False),
        ({"w": np.ones(16)[::2]}, NONE, False),
        ({"w": np.broadcast_to(np.ones(8), (4, 8))}, NONE, True),
    ],
)
def test_inputs_are_mixed_where_all_arrays_may_change(values: dict[str, Any], fixed: frozenset[str], can: bool) -> None:
    """Indices would be one of two; what lies between elements would get among them."""
    assert mixable(two(**values), fixed) is can


def test_a_mixture_has_the_plain_number_of_the_inputs_that_it_takes_the_place_of() -> None:
    some = [drawn(0, eps=1e-6), drawn(1, eps=1e-5)]
    assert mixable(some, NONE)
    assert [Mixtures(some, random.Random(1)).make(like).values()["eps"] for like in some] == [1e-6, 1e-5]


def test_inputs_of_which_another_plain_value_is_drawn_are_not_mixed() -> None:
    assert not mixable([drawn(0, most=3), drawn(1, most=4)], NONE)
    assert not mixable([drawn(0, eps=1e-6), drawn(1, eps=1)], NONE)
    assert not mixable([drawn(0), Inputs({"x": Layout("numpy", "float32", (4,), (1,), 4, 64)}, bytearray(160))], NONE)
