"""Inputs of two calls in a row that differ in little."""

import random
import struct

import pytest

from kpd.measure.python.host.alike import _pairs
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.harness import Inputs

NUMBERS = 64


def inputs(*columns: list[float]) -> Inputs:
    content = bytearray(b"".join(struct.pack(f"<{len(one)}f", *one) for one in columns))
    layout = {
        name: Layout("numpy", "float32", (len(one),), (1,), 4, at * 4 * NUMBERS)
        for at, (name, one) in enumerate(zip("xw", columns, strict=False))
    }
    return Inputs(layout, content)


def numbers(of: Inputs, at: int) -> tuple[float, ...]:
    return struct.unpack(f"<{NUMBERS}f", of.content[4 * NUMBERS * at : 4 * NUMBERS * (at + 1)])


def mixed(seed: int) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.choice((-1, 1)) * drawn.uniform(1, 2) for _ in range(NUMBERS)]


@pytest.mark.parametrize("seed", range(20))
def test_signs_of_two_elements_of_one_input_and_of_all_differ(seed: int) -> None:
    of = inputs(mixed(seed), mixed(seed + 1))
    found = list(_pairs(of, frozenset(), ["normal"], random.Random(seed)))
    changed = []
    for before, after in found:
        assert before == of
        pairs = [list(zip(numbers(before, at), numbers(after, at), strict=True)) for at in (0, 1)]
        assert all(abs(one) == abs(other) for part in pairs for one, other in part)
        changed.append([sum(one != other for one, other in part) for part in pairs])
    assert sorted(changed[0]) == [0, 2]
    assert sorted(changed[1]) == [0, NUMBERS]
    assert changed[2] == [NUMBERS, NUMBERS]


def test_an_input_of_one_sign_keeps_it() -> None:
    of = inputs([abs(one) for one in mixed(1)], mixed(2))
    found = list(_pairs(of, frozenset(), ["normal"], random.Random(0)))
    assert all(numbers(after, 0) == numbers(of, 0) for _, after in found)
    assert not list(_pairs(of, frozenset("w"), ["normal"], random.Random(0)))


def test_each_input_was_ones_where_constant_ones_are_promised() -> None:
    of = inputs(mixed(1), mixed(2))
    found = [before for before, after in _pairs(of, frozenset(), ["constant"], random.Random(0)) if after == of]
    assert [numbers(before, at) for at, before in enumerate(found[:2])] == [(1.0,) * NUMBERS] * 2
