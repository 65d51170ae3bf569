"""The words of gains: a factor from a fifth on, else less or more time; a sign that never contradicts."""

import re
from math import inf

import pytest
from hypothesis import given, strategies as st

from kpd.model.verdicts import Gain, Speedup, ratio_of
from kpd.text.gains import brief, cell, column, gain, signed, speedup, times


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        (7.19, "7.19×"), (1.0344, "1.034×"), (1.2, "1.20×"), (0.9, "0.900×"), (0.8999, "0.90×"), (0.14, "0.14×"),
        (0.014, "0.014×"), (12.34, "12.3×"), (14711.2, "14,711×"), (99.96, "100×"), (inf, "∞×"),
    ],
)  # fmt: skip
def test_factors(ratio: float, told: str) -> None:
    assert times(ratio) == told


def test_a_slowdown_says_how_many_times() -> None:
    found = Gain(-606.0, -640.0, -570.0)
    assert gain(found) == "0.14× [0.14, 0.15] (7.1× slower)"
    assert speedup(found.speedup) == gain(found)
    assert brief(-606.0) == "0.14× (7.1× slower)"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Gain(3.1, 2.4, 3.8), "3.1 % less time [2.4, 3.8]"),
        (Gain(-2.7, -3.5, -1.9), "2.7 % more time [1.9, 3.5]"),
        (Gain(-0.04, -0.5, 0.4), "0.0 % more time [−0.4, 0.5]"),
        (Gain(19.9, 19.85, 19.95), "19.9 % less time [19.9, 19.9]"),
        (Gain(20.0, 19.0, 21.0), "1.25× [1.23, 1.27]"),
        (Gain(-5.0, -300.0, 74.0), "0.952× [0.25, 3.85]"),
    ],
)
def test_below_a_fifth_it_is_time(found: Gain, told: str) -> None:
    assert gain(found) == told


def test_columns_hold_factors() -> None:
    assert column(Speedup(7.19, 7.01, 7.384)) == "7.19× [7.01, 7.38]"
    assert cell(Gain(3.1, 2.4, 3.8)) == "1.032× ±0.007"
    assert cell(Gain(99.9, 0.0, 100.0)) == "1,000×", "an interval without end"


@given(st.floats(-1e4, 99.99))
def test_the_words_and_the_number_agree(pct: float) -> None:
    told = brief(pct)
    assert not re.search(r"-|−0\.0\b|[+−]\d", told)
    if "less" in told:
        assert 0 <= pct < 20
    elif "more" in told:
        assert -20 < pct < 0
    else:
        assert abs(pct) >= 20 and (float(re.sub("[,×].*", "", told.replace(",", ""))) > 1) == (pct > 0)
    assert ("slower" in told) == (ratio_of(pct) <= 0.8)


@given(st.floats(-1000, 1000))
def test_no_negative_zero(value: float) -> None:
    assert signed(value) != "−0.0" and "-" not in signed(value)
