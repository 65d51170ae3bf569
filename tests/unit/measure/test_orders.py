"""Bounds by the order of values."""

from random import Random

import pytest

from kpd.measure.orders import lower_quartile, median_bounds


@pytest.mark.parametrize(
    ("many", "confidence", "outside"),
    [(6, 0.99, 0), (7, 0.99, 1), (10, 0.99, 1), (11, 0.99, 2), (4, 0.95, 0), (5, 0.95, 1), (7, 0.95, 1), (8, 0.95, 2)],
)
def test_so_many_values_lie_beyond_the_bounds_of_a_median(many: int, confidence: float, outside: int) -> None:
    """Of 7 values all are below it in one of 128 cases, and of 11 all but one in 12 of 2048."""
    values = [float((7 * n) % many if many % 7 else n) for n in range(many)]
    found = median_bounds(values, confidence)
    assert found == ((outside - 1.0, many - outside + 0.0) if outside else None)


def test_a_median_lies_within_its_bounds_however_values_are_distributed() -> None:
    rng, missed = Random(3), 0
    for _ in range(1000):
        values = [rng.expovariate(1.0) if rng.random() < 0.7 else 100.0 for _ in range(11)]
        bounds = median_bounds(values, 0.99)
        assert bounds is not None
        missed += not bounds[0] <= 1.252 <= bounds[1]  # 1 - exp(-1.252) is 5 / 7
    assert missed <= 20


def test_a_quartile_is_told_with_its_error_and_bounds() -> None:
    found = lower_quartile([float(n) for n in range(41)], 0.95)
    assert found.middle == 10
    assert found.error == 3, "the values 2.8 places before and behind it"
    assert (found.low, found.high) == (5, 15), "1.64 times as many"
    assert lower_quartile([7.0]) == (7.0, 0.0, 7.0, 7.0)


def test_the_bounds_of_a_quartile_reach_the_other_speed_where_its_error_does_not() -> None:
    """Of nine processes two are quick: the third one, and those beside it, are slow."""
    found = lower_quartile([1.0, 1.01, *(1.6 + n / 100 for n in range(7))], 0.999)
    assert found.error < 0.35
    assert found.low == 1.0
