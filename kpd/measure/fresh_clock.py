"""Estimates the gain of calls on fresh inputs by the driver's clock: from asking for a call to hearing of its end."""

from collections.abc import Sequence
from math import log
from statistics import median

from kpd.measure.orders import lower_quartile, variance_of_median

PAIRS_A_PLACE = 3
"""Pairs of calls with the code in one place of the memory (fresh.c): their times have the state of that in common."""
SHORT_NS, HEARD_LATER_NS = 10_000.0, 2000.0
"""The driver may hear of the end of a candidate's call by so much later than of the incumbent's, where that is short.
On a virtual machine it was 1.3 microseconds in nine of eleven audits, for a kernel that was faster."""
FAR_SHORTER = 2.0
"""How many times as long as the candidate's the incumbent's calls take at the least where these are compared one by one
with the driver's clock."""


def gain_by_clock(
    a_ns: Sequence[int], b_ns: Sequence[int], a_passed_ns: Sequence[int], b_passed_ns: Sequence[int]
) -> tuple[float, float]:
    """Return the gain of a case by the driver's clock, a logarithm, and its variance.

    The calls of both differ by as much as what was called, which is added to A's own time. In each place of the code
    the quickest call of either counts, as other work only makes calls longer; then the median over the places, as a
    kernel takes another time in each. Where B's are said to be `FAR_SHORTER` that difference says little: what A's
    calls differ by among themselves may be longer than B's. Then what is beside a call is taken from A's calls one by
    one, each by its process's own clock, and off B's.
    """
    usual, told = median(a_ns), median(b_ns)
    if told * FAR_SHORTER > usual:
        longer = [b - a for a, b in zip(quickest_by_place(a_passed_ns), quickest_by_place(b_passed_ns), strict=True)]
        call = max(_heard(usual, usual + median(longer), told), 1.0)
        return log(usual / call), variance_of_median(longer) / call**2
    a, b_passed = lower_quartile(a_ns), lower_quartile(b_passed_ns)
    beside = lower_quartile([passed - ns for passed, ns in zip(a_passed_ns, a_ns, strict=True)])
    call = max(_heard(a.middle, b_passed.middle - beside.middle, told), 1.0)
    variance = (a.error / a.middle) ** 2 + (beside.error**2 + b_passed.error**2) / call**2
    return log(a.middle / call), variance


def quickest_by_place(times: Sequence[int]) -> list[int]:
    """Return the shortest of each three times: those of a place of the code, or of three where calls take long."""
    return [min(times[at : at + PAIRS_A_PLACE]) for at in range(0, len(times), PAIRS_A_PLACE)]


def _heard(a_ns: float, b_ns: float, told_ns: float) -> float:
    """Return the time of the candidate's call by the driver's clock, without what short ones are heard later.

    That makes it no less than what the candidate's own process has told.
    """
    return b_ns if a_ns >= SHORT_NS else max(b_ns - HEARD_LATER_NS, min(b_ns, told_ns))
