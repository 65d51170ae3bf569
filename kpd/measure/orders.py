"""Estimates by the order of values, and the bounds of such estimates: they hold however the values are distributed.

On an unsteady machine processes run at one of two speeds, or one of them runs as no other does. A standard error of
few values does not know of the speed that none of them had.
"""

from collections.abc import Sequence
from math import comb, inf, sqrt
from statistics import NormalDist, median
from typing import NamedTuple

QUARTER = 0.25
"""Of single calls by the driver's clock, and of processes: shorter ones tell of the kernel, others of other work."""
_SIGMA = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""
_MEDIAN = 1.2533
"""The standard error of a median of normal values, in that of their mean."""


class Quartile(NamedTuple):
    """The lower quartile of times, its standard error, and the values between which it lies."""

    middle: float
    error: float
    low: float
    high: float


def lower_quartile(times: Sequence[float], confidence: float = 0.5) -> Quartile:
    """Estimate the lower quartile, and between which of the values it lies; either bound has that confidence.

    Other work on the machine only makes times longer, on a busy one most of them, but hardly ever three in four.
    """
    ordered, many = sorted(times), len(times)
    at, error = QUARTER * (many - 1), sqrt(QUARTER * (1 - QUARTER) * many)
    reach = NormalDist().inv_cdf(confidence) * error
    ranks = (at, at - error, at + error, at - reach, at + reach)
    middle, less, more, low, high = (ordered[min(max(round(rank), 0), many - 1)] for rank in ranks)
    return Quartile(middle, (more - less) / 2, low, high)


def median_bounds(values: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Return the values between which the median of their distribution lies; either bound has that confidence.

    So many of them are as likely all below it as a coin falls on one side so often. None where there are too few.
    """
    ordered, many = sorted(values), len(values)
    chances = [comb(many, below) / 2**many for below in range(many)]
    outside = 0
    while outside < many and sum(chances[: outside + 1]) <= 1 - confidence:
        outside += 1
    return (ordered[outside - 1], ordered[-outside]) if outside else None


def deviation(values: Sequence[float]) -> float:
    """Estimate the standard deviation robustly; 0 for a single value."""
    middle = median(values)
    return _SIGMA * median(abs(value - middle) for value in values)


def variance_of_median(values: Sequence[float], most: float = inf) -> float:
    """Estimate the variance of their median; their deviation counts `most` of it."""
    return (_MEDIAN * min(deviation(values), most)) ** 2 / len(values)
