"""Estimates from the samples of a contest what a candidate gains while inputs hardly change, and not on fresh ones.

Both kinds of calls are of the same processes and on the same arrays, and a call is of the second kind once its contents
are there, not before: so nothing tells a candidate when it is worth while to keep what it has computed.
"""

from collections.abc import Collection, Sequence
from math import log, sqrt
from statistics import fmean, median, stdev
from typing import NamedTuple

from kpd.measure.audit_gains import LAST_CONFIDENCE, STEADY, half_width
from kpd.measure.judge import percent
from kpd.measure.samples import Batches, CaseSample, ProcessSample, deciding
from kpd.model.audits import AuditedGain

FEWEST = 2
"""Processes with calls on fresh inputs: those in which the candidate was faster in any case, as in most of a winner."""


class _Kept(NamedTuple):
    """Logarithms of time: what a candidate keeps, and how much longer its calls may be for the state of the caches."""

    kept: float
    allowed: float


def kept_beside(contest: Sequence[ProcessSample]) -> AuditedGain | None:
    """Compute by how much the gain on inputs that hardly change is above that on fresh ones; None where none were.

    A call on fresh inputs finds the caches in another state: of the candidate's it may take as much longer as of the
    incumbent's. The error is no more than what the incumbent's times tell: a candidate can make its own differ.
    """
    each = [
        _over_cases(one.cases.values())
        for one in deciding(contest)
        if one.cases and all(case.fresh for case in one.cases.values())
    ]
    if len(each) < FEWEST:
        return None
    kept, allowed = ([process[at] for process in each] for at in range(2))
    error = min(stdev(kept), STEADY * stdev(allowed)) / sqrt(len(each))
    middle, half = fmean(kept), half_width(error, len(each) - 1, LAST_CONFIDENCE)
    return AuditedGain(percent(middle), percent(middle - half), percent(middle + half))


def _over_cases(cases: Collection[CaseSample]) -> _Kept:
    """Return the weighted means."""
    each, weights = [_of_case(case, case.fresh) for case in cases if case.fresh], [case.weight for case in cases]
    return _Kept(*(fmean([one[at] for one in each], weights) for at in range(2)))


def _of_case(case: Batches, fresh: Batches) -> _Kept:
    a, b, a_fresh, b_fresh = (_call(batches, side) for batches in (case, fresh) for side in ("a_ns", "b_ns"))
    more = a_fresh - a
    return _Kept(log(b_fresh / (b + max(more, 0.0))), more / b)


def _call(batches: Batches, side: str) -> float:
    """Return the time of a call."""
    times: Sequence[float] = getattr(batches, side)
    return median(times) / batches.reps
