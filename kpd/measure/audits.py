"""Judges what must hold of a gain before its candidate is accepted: pure, from the audits' own samples.

A gain is believed where at least `SHARE` of it is there on inputs that are new in every call, and where each kernel is
timed in processes without the other one; both as a logarithm of the time, against the lower end of the contest's
interval. The audits find gains that come from elsewhere, and decide none: they are far shorter than a contest, and
their caches are in another state. So a candidate is refused only beyond doubt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import fmean, median
from typing import NamedTuple

from kpd.measure.interval import t_quantile
from kpd.measure.judge import percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.faults import ClockForged, GainNotHeld
from kpd.model.verdicts import Gain

SHARE = 0.5
"""The share of the contest's gain that an audit must leave possible."""
CONFIDENCE = 0.999
"""How sure an audit must be that less than that is there, one-sided."""
CLOCK_SHARE = 0.05
"""The share of the time by which the driver's clock and the sum of the samples may differ."""
FEWEST = 2
"""The processes whose clocks must differ, at least: one may be an accident."""
SHORT_SHARE = 3
"""Where other work can be the cause, one in so many must: a gain that fewer show is never accepted."""
BETWEEN_NS = 10_000
"""The most time that passes from one batch to the next, beside that share: counters are read there."""
_SIGMA = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""
_MEDIAN = 1.2533
"""The standard error of a median of normal values, in that of their mean."""


@dataclass(frozen=True, slots=True)
class FreshCase:
    """Batches of a case, each of `reps` calls on inputs of their own: A's and B's of one pair came in random order.

    `compared` of B's batches were compared with the truth. `anew`: the harness filled all inputs of each call; else its
    elements were put into another order.
    """

    reps: int
    compared: int
    anew: bool
    a_ns: tuple[int, ...]
    b_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AuditSamples:
    """What the audits of one candidate measured: `audit.json`. In `alone`, processes of even numbers timed A only."""

    fresh: dict[str, FreshCase]
    alone: tuple[ProcessSample, ...]
    fresh_s: float
    alone_s: float


def summary(audit: AuditSamples, contest: Sequence[ProcessSample]) -> AuditSummary:
    """Return what is told of the audits: gains, coverage and seconds."""
    cases = audit.fresh.values()
    return AuditSummary(
        fresh_gain(audit.fresh, _weights(contest)),
        alone_gain(audit.alone, contest),
        sum(case.reps * len(case.a_ns) for case in cases),
        sum(case.compared for case in cases),
        audit.fresh_s + audit.alone_s,
        sum(sample.compared is False for sample in (*contest, *audit.alone)),
        sum(sample.compared is not None for sample in (*contest, *audit.alone)),
    )


def refuse_gain(found: AuditSummary, claimed: Gain) -> GainNotHeld | None:
    """Return the fault of a candidate whose gain is not there in an audit; None where both agree with the contest."""
    if not _holds(found.fresh, claimed):
        return GainNotHeld("fresh", claimed.low, found.fresh.pct, found.fresh.high)
    if not _holds(found.alone, claimed):
        return GainNotHeld("alone", claimed.low, found.alone.pct, found.alone.high)
    return None


def _holds(found: AuditedGain, claimed: Gain) -> bool:
    return _ratio(found.high) >= SHARE * _ratio(claimed.low)


def _ratio(pct: float) -> float:
    return -log(max(1 - pct / 100, 1e-9))


def fresh_gain(cases: Mapping[str, FreshCase], weights: Mapping[str, float]) -> AuditedGain:
    """Compute the gain on fresh inputs: the weighted mean over the cases of the median over the pairs."""
    pairs = {name: [log(a / b) for a, b in zip(one.a_ns, one.b_ns, strict=True)] for name, one in cases.items()}
    whole = sum(weights[name] for name in pairs)
    shares = {name: weights[name] / whole for name in pairs}
    middle = sum(shares[name] * median(ratios) for name, ratios in pairs.items())
    error = sqrt(
        sum((shares[name] * _MEDIAN * _deviation(ratios)) ** 2 / len(ratios) for name, ratios in pairs.items())
    )
    return _gain(middle, error, sum(len(ratios) - 1 for ratios in pairs.values()))


def alone_gain(alone: Sequence[ProcessSample], contest: Sequence[ProcessSample]) -> AuditedGain:
    """Compute the gain between processes that timed A only and processes that timed B only.

    Its error follows from the spread of either kernel's times between the processes of the contest and these.
    """
    incumbent = [_level(sample, "a_ns") for sample in alone if sample.process % 2 == 0]
    candidate = [_level(sample, "b_ns") for sample in alone if sample.process % 2 == 1]
    beside = [sample for sample in contest if not sample.taint]
    spread = [
        max(_deviation([_level(sample, side) for sample in beside]), _deviation(times))
        for side, times in (("a_ns", incumbent), ("b_ns", candidate))
    ]
    error = sqrt(spread[0] ** 2 / len(incumbent) + spread[1] ** 2 / len(candidate))
    return _gain(median(incumbent) - median(candidate), _MEDIAN * error, len(alone) - 2)


def refuse_clock(samples: Iterable[ProcessSample]) -> ClockForged | None:
    """Return the fault of a candidate whose samples the driver's own clock does not bear out; None where it does.

    The kept batches of a case cannot take longer than its timing did. Nor can the timing of all cases, from when the
    process is awake, take longer than all batches that were taken, but for what is between them: a batch lasts as long
    when other work has the CPU meanwhile. That work can get it between two batches, too, though seldom; so a third of
    the processes must show it.
    """
    kept = [sample for sample in samples if not sample.taint and has_clock(sample)]
    longer = [clocks for clocks in map(_longest, kept) if clocks.beyond_ns > 0]
    shorter = [clocks for clocks in map(_shorter, kept) if clocks.beyond_ns > 0]
    for forged, fewest in ((longer, FEWEST), (shorter, max(FEWEST, -(-len(kept) // SHORT_SHARE)))):
        if len(forged) >= fewest:
            worst = max(forged, key=lambda clocks: clocks.beyond_ns)
            return ClockForged(worst.summed_ns / 1e6, worst.wall_ns / 1e6, len(forged), len(kept))
    return None


class _Clocks(NamedTuple):
    """The nanoseconds by which two clocks differ beyond what they may, and what they say."""

    beyond_ns: float
    summed_ns: float
    wall_ns: float


def has_clock(sample: ProcessSample) -> bool:
    """Return whether the driver's clock is known, which older samples lack."""
    return bool(sample.cases) and all(case.clock is not None for case in sample.cases.values())


def _longest(sample: ProcessSample) -> _Clocks:
    """Compare the clocks of the case whose batches are the longest for its timing."""
    pairs = [(_summed(case), case.clock.wall_ns) for case in sample.cases.values() if case.clock is not None]
    return max(_Clocks(summed - (1 + CLOCK_SHARE) * wall, summed, wall) for summed, wall in pairs)


def _shorter(sample: ProcessSample) -> _Clocks:
    """Compare the clocks of all cases together; on a GPU, whose own clock times the batches, nothing is."""
    beyond, spent, wall = 0.0, 0.0, 0.0
    for case in sample.cases.values():
        clock = case.clock
        if clock is None or not clock.spent_ns:
            continue
        batches = (len(case.a_ns) + len(case.b_ns)) * max(1.0, clock.spent_ns / _summed(case))
        timed = max(clock.wall_ns - clock.late_ns, min(clock.busy_ns, clock.wall_ns))
        beyond += (1 - CLOCK_SHARE) * timed - clock.spent_ns - BETWEEN_NS * batches
        spent, wall = spent + clock.spent_ns, wall + timed
    return _Clocks(beyond, spent, wall)


def _summed(case: CaseSample) -> float:
    return float(sum(case.a_ns) + sum(case.b_ns))


def _level(sample: ProcessSample, side: str) -> float:
    """Return the weighted mean logarithm of the time of a call."""
    times = [median(getattr(case, side)) / case.reps for case in sample.cases.values()]
    return fmean(map(log, times), [case.weight for case in sample.cases.values()])


def _weights(contest: Sequence[ProcessSample]) -> dict[str, float]:
    return {name: case.weight for name, case in contest[0].cases.items()}


def _deviation(values: Sequence[float]) -> float:
    """Estimate the standard deviation robustly; 0 for a single value."""
    middle = median(values)
    return _SIGMA * median(abs(value - middle) for value in values)


def _gain(middle: float, error: float, dof: int) -> AuditedGain:
    half = t_quantile(CONFIDENCE, max(dof, 3)) * error
    return AuditedGain(percent(middle), percent(middle - half), percent(middle + half))
