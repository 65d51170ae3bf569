"""Estimates the gain between processes that time one kernel only, and how sure audits and a contest are.

It is a weighted mean over the cases, in logarithms of time.
"""

from collections.abc import Callable, Mapping, Sequence
from math import hypot, log, sqrt
from statistics import fmean, median, stdev

from kpd.measure.clocks import lengthening
from kpd.measure.interval import t_quantile
from kpd.measure.judge import CONFIDENCE as JUDGED, percent
from kpd.measure.orders import Quartile, lower_quartile
from kpd.measure.samples import CaseSample, ProcessSample, deciding
from kpd.model.audits import AuditedGain

CONFIDENCE = 0.999
"""How sure an audit must be that less than that is there, one-sided."""
LAST_CONFIDENCE = 0.99
"""How sure audits must be after the last one: there are many by then."""
STEADY = 2.0
"""The most that the error of the contest's gain counts then, in what the incumbent's times tell: a candidate can make
its own times differ."""


def steady_error(contest: Sequence[ProcessSample]) -> float:
    """Return how much the error of the contest's gain may count after the last audit, as a logarithm.

    It is what processes tell that differ by no more than `STEADY` times what the incumbent's times do: a kernel that
    has another gain in each process makes the error as large as it likes.
    """
    levels = [level(sample, "a_ns") for sample in deciding(contest)]
    return STEADY * t_quantile((1 + JUDGED) / 2, len(levels) - 1) * stdev(levels) / sqrt(len(levels))


def _call(case: CaseSample, side: str) -> float:
    """Return the logarithm of the time of a call."""
    return log(median(getattr(case, side)) / case.reps)


def by_driver(case: CaseSample, side: str) -> float:
    """Return the logarithm of the time of a call by the driver's clock, which no kernel can change."""
    return _call(case, side) + log(lengthening(case))


def level(sample: ProcessSample, side: str) -> float:
    """Return the weighted mean logarithm of the time of a call."""
    cases = sample.cases.values()
    return fmean([_call(case, side) for case in cases], [case.weight for case in cases])


def alone_gain(
    alone: Sequence[ProcessSample],
    contest: Sequence[ProcessSample],
    last: bool = False,
    time: Callable[[CaseSample, str], float] = _call,
) -> AuditedGain:
    """Compute the gain between processes that timed A only and processes that timed B only.

    Other work only makes them longer, so in each case the shorter quarter of them counts. Its bounds are processes,
    too: of those that run at one of two speeds few can all have the same one. Before the last audit the error is at
    least that of the contest's own processes. Where they are `apart`, each of them tells a gain.
    """
    if by_turns(alone):
        return _gain_by_turns(alone, contest, last)
    weights, beside = case_weights(contest), deciding(contest)
    confidence = LAST_CONFIDENCE if last else CONFIDENCE
    a, b = (
        _over_processes([one for one in alone if one.process % 2 == number], side, weights, time, confidence)
        for number, side in enumerate(("a_ns", "b_ns"))
    )
    least = 0.0
    if not last:
        errors = (_over_processes(beside, side, weights, _call, confidence).error for side in ("a_ns", "b_ns"))
        least = half_width(hypot(*errors) * sqrt(2 * len(beside) / len(alone)), len(alone) - 2)
    middle = a.middle - b.middle
    high = middle + max(hypot(a.high - a.middle, b.middle - b.low), least)
    low = middle - max(hypot(a.middle - a.low, b.high - b.middle), least)
    return AuditedGain(percent(middle), percent(low), percent(high))


def by_turns(alone: Sequence[ProcessSample]) -> bool:
    """Return whether each of these processes timed both kernels, either in a process of its own."""
    return bool(alone) and all(one.apart for one in alone)


def _gain_by_turns(alone: Sequence[ProcessSample], contest: Sequence[ProcessSample], last: bool) -> AuditedGain:
    """Compute the median gain of processes that time either kernel by turns, and its bounds.

    After the last audit that are the least and the most: a kernel that makes its own times differ raises neither.
    Before, processes differ by no less than the contest's.
    """
    gains, beside = ([level(one, "a_ns") - level(one, "b_ns") for one in some] for some in (alone, deciding(contest)))
    middle, low, high = median(gains), min(gains), max(gains)
    if not last:
        error = max((stdev(some) for some in (gains, beside) if len(some) > 1), default=0.0) / sqrt(len(gains))
        width = half_width(error, len(gains) - 1)
        low, high = min(low, middle - width), max(high, middle + width)
    return AuditedGain(percent(middle), percent(low), percent(high))


def _over_processes(
    samples: Sequence[ProcessSample], side: str, weights: Mapping[str, float],
    time: Callable[[CaseSample, str], float], confidence: float,
) -> Quartile:  # fmt: skip
    """Return the weighted mean over the cases of the undisturbed time of a call, a logarithm, and its bounds.

    What disturbs a process is in several of its cases: their errors are not independent.
    """
    whole = sum(weights.values())
    found = {name: lower_quartile([time(one.cases[name], side) for one in samples], confidence) for name in weights}
    return Quartile(*(sum(weights[name] * some[at] for name, some in found.items()) / whole for at in range(4)))


def case_weights(contest: Sequence[ProcessSample]) -> dict[str, float]:
    """Return how much each case counts in a mean over the cases."""
    return {name: case.weight for name, case in contest[0].cases.items()}


def half_width(error: float, dof: int, confidence: float = CONFIDENCE) -> float:
    """Return by how much an estimate may be off on either side, from its standard error."""
    return t_quantile(confidence, max(dof, 3)) * error
