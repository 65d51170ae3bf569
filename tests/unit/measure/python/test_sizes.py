"""The sizes that a check draws beside the named ones."""

import random

from hypothesis import given, strategies as st

from kpd.measure.python.host.harness import Limit
from kpd.measure.python.host.sizes import FURTHER, NEAR, WORK, drawn, work

CASES = {"small": {"rows": 33, "cols": 0}, "large": {"rows": 2048, "cols": 640}}


@given(st.integers(0, 2**64), st.integers(1, 12))
def test_a_drawn_size_is_new_and_no_dim_but_one_is_above_a_cases(seed: int, count: int) -> None:
    found = drawn(CASES, {}, random.Random(seed), count)
    assert len(found) == count == len({size.name for size in found})
    assert found == sorted(found, key=lambda size: work(size.dims))
    for size in found:
        assert size.dims not in CASES.values()
        larger = [dim for dim, named in CASES[size.near].items() if size.dims[dim] > named + NEAR]
        for dim, named in CASES[size.near].items():
            assert min(named, 1) <= size.dims[dim] <= (FURTHER * named if dim in larger else named + NEAR)
        assert len(larger) <= 1
        assert not larger or work(size.dims) <= WORK * 2048 * 640


@given(st.integers(0, 2**64))
def test_every_third_size_has_a_dim_above_that_of_its_case(seed: int) -> None:
    found = drawn({"one": {"n": 1000}}, {}, random.Random(seed), 3 * 5)
    assert sum(size.dims["n"] > 1000 for size in found) >= 5


def test_a_drawn_dim_may_be_any_below_that_of_a_case_and_up_to_twice_the_work() -> None:
    found = drawn({"one": {"n": 16}}, {}, random.Random(1), 400)
    assert {size.dims["n"] for size in found} == {*range(1, 16), *range(17, 33)}


def test_one_dim_may_be_up_to_four_times_that_of_its_case_where_others_are_smaller() -> None:
    found = drawn({"one": {"n": 16, "m": 16}}, {}, random.Random(1), 4000)
    assert {size.dims["n"] for size in found} == {*range(1, 65)}
    assert max(work(size.dims) for size in found if max(size.dims.values()) > 19) == 2 * 16 * 16


@given(st.integers(0, 2**64), st.integers(1, 64), st.integers(0, 3000), st.integers(1, 16))
def test_a_drawn_size_keeps_to_the_limits_of_the_harness(seed: int, least: int, most: int, multiple: int) -> None:
    limit = Limit(least, most, multiple)
    for size in drawn({"one": {"n": 256}}, {"n": limit}, random.Random(seed), 6):
        assert size.dims["n"] % multiple == 0
        assert size.dims["n"] >= least
        assert not most or size.dims["n"] <= most


def test_the_nearest_size_that_is_allowed() -> None:
    assert [Limit(1, 0, 8).nearest(size) for size in (0, 1, 7, 8, 9, 15, 16)] == [8, 8, 8, 8, 8, 8, 16]
    assert [Limit(16, 64, 16).nearest(size) for size in (1, 63, 64, 65, 900)] == [16, 48, 64, 64, 64]
    assert [Limit(60, most, 16).nearest(70) for most in (63, 64)] == [0, 64]


def test_there_may_be_none() -> None:
    assert drawn({"one": {"n": 64}}, {"n": Limit(64, 64)}, random.Random(1), 3) == []
    assert drawn({"bare": {}}, {}, random.Random(1), 3) == []
