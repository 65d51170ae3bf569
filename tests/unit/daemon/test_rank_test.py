"""The rank test and the shift: exact, against counting all deals one by one, and with missing values as the worst."""

from itertools import combinations
from math import comb, inf

import pytest
from hypothesis import given, strategies as st

from kpd.daemon.rank_test import SURE, rank_test, shift

SMALL = st.lists(st.sampled_from([-inf, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=5)
FINITE = st.lists(st.floats(-5, 5).map(lambda value: round(value, 3)), min_size=4, max_size=8)


def counted(one: list[float], other: list[float]) -> float:
    """The share of all deals that lie as far apart, by trying them all."""
    whole = [*one, *other]

    def rank(value: float) -> float:
        return sum(each < value for each in whole) + (whole.count(value) + 1) / 2

    ranks = [rank(value) for value in whole]
    mean = len(one) * (len(whole) + 1) / 2
    seen = abs(sum(ranks[: len(one)]) - mean)
    deals = [sum(ranks[at] for at in chosen) for chosen in combinations(range(len(whole)), len(one))]
    return sum(abs(deal - mean) >= seen - 1e-9 for deal in deals) / len(deals)


@given(SMALL, SMALL)
def test_p_is_the_share_of_all_deals_also_with_ties_and_missing_values(one: list[float], other: list[float]) -> None:
    found = rank_test(one, other)
    assert found.p == pytest.approx(counted(one, other))
    assert found.p >= found.least - 1e-12


@given(SMALL, SMALL)
def test_the_sides_can_be_exchanged_and_the_values_stretched(one: list[float], other: list[float]) -> None:
    found, turned = rank_test(one, other), rank_test(other, one)
    assert (turned.p, turned.wins) == (pytest.approx(found.p), pytest.approx(1 - found.wins))
    assert rank_test([3 * value + 1 for value in one], [3 * value + 1 for value in other]) == found


def test_known_values() -> None:
    assert rank_test([1, 2, 3], [4, 5, 6]).p == pytest.approx(2 / 20)
    assert rank_test([5, 6, 7, 8], [1, 2, 3, 4]).p == pytest.approx(2 / 70)
    assert rank_test([1, 1, 1], [1, 1, 1]).p == 1.0
    found = shift([14, 16, 18, 20, 22], [10, 11, 12, 13, 15])
    assert (found.median, found.low, found.high) == (6, 1, 10)


@pytest.mark.parametrize(("size", "shown"), [(3, False), (4, True)])
def test_four_on_each_side_are_the_least_that_can_show_a_difference(size: int, shown: bool) -> None:
    high, low = [float(value + size) for value in range(size)], [float(value) for value in range(size)]
    found = rank_test(high, low)
    assert (found.least == found.p == pytest.approx(2 / comb(2 * size, size)), found.p <= SURE) == (True, shown)
    assert (shift(high, low).low is not None) == shown


@given(FINITE, FINITE, st.floats(-3, 3))
def test_the_shift_follows_a_shift_and_lies_in_its_interval(one: list[float], other: list[float], by: float) -> None:
    found, moved = shift(one, other), shift([value + by for value in one], other)
    assert found.median is not None and found.low is not None and found.high is not None
    assert found.low <= found.median <= found.high
    for before, after in ((found.low, moved.low), (found.median, moved.median), (found.high, moved.high)):
        assert after == pytest.approx(before + by, abs=1e-6)


def test_missing_values_leave_an_end_open_and_never_help() -> None:
    found = shift([2.0, 3.0, 4.0, -inf], [1.0, 1.5, 1.7, 1.9])
    assert found.low is None and found.high == pytest.approx(3.0)
    assert shift([-inf] * 4, [1.0] * 4).median is None
    assert shift([-inf] * 4, [-inf] * 4).median == 0.0
    whole = rank_test([2.0, 3.0, 4.0, 5.0], [1.0, 1.5, 1.7, 1.9]).p
    assert rank_test([2.0, 3.0, 4.0, -inf], [1.0, 1.5, 1.7, 1.9]).p > whole
