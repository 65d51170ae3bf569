"""Sizes far beyond those of the cases, which grow from one to the next."""

import random

from kpd.measure.python.host import beyond
from kpd.measure.python.host.harness import Limit

NAMED = {"rows": 16, "cols": 2048}


def growing(limits: dict[str, Limit]) -> list[int]:
    return [dims["cols"] for dims in beyond._long(NAMED, "cols", limits, random.Random(1))]


def test_one_dim_grows_up_to_so_many_times_the_work_of_the_largest_case() -> None:
    sizes = growing({})
    assert sizes == sorted(set(sizes))
    assert 2 * NAMED["cols"] <= sizes[0] < 2 * NAMED["cols"] + beyond.REST
    assert 50_000 < sizes[-1] < beyond.LONG_TIMES * 16 * 2048


def test_it_ends_where_the_harness_allows_no_more() -> None:
    assert growing({"cols": Limit(most=8195)})[-1] <= 8195
    assert growing({"cols": Limit(most=5000)})[-1] == 5000
    assert not growing({"cols": Limit(most=2048)})
