"""The bootstrap interval holds the truth as often as it says, and Student's t is what the tables say."""

import random

import pytest

from kpd.measure.interval import half_width, t_quantile

TABLE = {1: 63.657, 2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 6: 3.707, 8: 3.355, 10: 3.169, 14: 2.977}


@pytest.mark.parametrize("dof", TABLE)
def test_t_quantile_against_the_tables(dof: int) -> None:
    assert t_quantile(0.995, dof) == pytest.approx(TABLE[dof], rel=0.009)
    assert t_quantile(0.005, dof) == pytest.approx(-TABLE[dof], rel=0.009)


@pytest.mark.parametrize("count", [3, 5, 9])
def test_the_interval_holds_the_truth_as_often_as_it_says(count: int) -> None:
    rng = random.Random(count)
    trials = 300
    drawn = [[rng.gauss(1, 2) for _ in range(count)] for _ in range(trials)]
    held = sum(abs(sum(values) / count - 1) <= half_width(values, 0.99) for values in drawn)
    assert 0.97 <= held / trials < 1


def test_the_same_values_give_the_same_width() -> None:
    values = [0.1, 0.4, 0.2, 0.9]
    assert half_width(values, 0.99) == half_width(values, 0.99)
    assert half_width(values, 0.99) > half_width(values, 0.9) > 0


def test_one_process_is_no_interval() -> None:
    with pytest.raises(ValueError, match="at least two"):
        half_width([1.0], 0.99)
