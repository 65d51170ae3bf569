"""Computes the tables of a report from its facts. Pure: numbers stay numbers, so that a page can sort by them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from kpd.model.case_matrix import case_speedups
from kpd.model.facts.steps import Timed
from kpd.model.headline import headline
from kpd.model.iteration import Iteration
from kpd.model.metrics import describe, parted
from kpd.model.verdicts import Speedup, ratio_of
from kpd.profile.changes import changes
from kpd.report.facts import Facts
from kpd.text import signs
from kpd.text.endings import of_iteration
from kpd.text.signs import Sign
from kpd.text.verdicts import verdict

MOST_COUNTERS = 16


@dataclass(frozen=True, slots=True)
class ReportedCandidate:
    """One iteration: its sign, its paired speed-up over its parent and over the baseline, and why it ended so."""

    iteration: Iteration
    sign: Sign
    against: Speedup | None
    over: Speedup | None
    why: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ReportedCase:
    """One case, before and after, in microseconds of the contest of the incumbent.

    `ratio` is the speed-up over the baseline as the product of paired ones, `speedup` the same with its interval, where
    each of them has one. `before_us` is what the baseline would have taken in that contest. `floor_us` is the
    roofline's lower bound.
    """

    case: str
    before_us: float | None
    after_us: float
    ratio: float | None
    speedup: Speedup | None
    floor_us: float | None
    device_us: float | None
    weight: float

    @property
    def share_before(self) -> float | None:
        """The share of the roofline before, in percent."""
        return 100 * self.floor_us / self.before_us if self.floor_us and self.before_us else None

    @property
    def share_after(self) -> float | None:
        return 100 * self.floor_us / self.after_us if self.floor_us else None


@dataclass(frozen=True, slots=True)
class ReportedCounter:
    """A metric that moved from the baseline to the incumbent."""

    label: str
    before: float
    after: float
    unit: str
    better: bool | None


def candidates(facts: Facts) -> Iterator[ReportedCandidate]:
    """Yield a row for each iteration that has ended, in the order of the run."""
    run = facts.run
    for it in run.iterations:
        if it.outcome is None:
            continue
        over = headline(run, it.number) if it.confirms is None else None
        judged = it.verdict is not None and it.outcome != "baseline"
        yield ReportedCandidate(
            it,
            signs.of_iteration(it),
            it.verdict.gain.speedup if judged and it.verdict is not None else None,
            over.speedup if over is not None else None,
            of_iteration(it) or (verdict(it.verdict) if it.verdict is not None else ""),
            (it.ended or it.started) - it.started,
        )


def cases(facts: Facts) -> tuple[ReportedCase, ...]:
    """Return a row for each case of the incumbent, the heaviest and slowest first; empty before there is one.

    Only paired speed-ups say how much faster a case is: times of different contests are not compared.
    """
    number = facts.run.incumbent
    timed = {it: found.timed for it, found in facts.details.items() if found.timed is not None}
    if number is None or number not in timed:
        return ()
    paired = case_speedups(facts.run, number, timed)
    rows = []
    for case in timed[number].cases:
        ratio, us = _ratio(facts, timed, case.case), case.candidate_us
        before = us * ratio if ratio is not None else None
        interval = paired.get(case.case)
        rows.append(ReportedCase(case.case, before, us, ratio, interval, case.roofline_us, case.device_us, case.weight))
    return tuple(sorted(rows, key=lambda row: (-row.weight, -row.after_us)))


def _ratio(facts: Facts, timed: Mapping[int, Timed], name: str) -> float | None:
    """Multiply the paired speed-ups in a case along the incumbent's line; None where a contest of it is not known."""
    gains = []
    for it in facts.line:
        case = (
            next((case for case in timed[it.number].cases if case.case == name), None) if it.number in timed else None
        )
        if case is None:
            return None
        gains.append(ratio_of(case.gain_pct))
    return prod(gains)


def counters(facts: Facts) -> tuple[ReportedCounter, ...]:
    """Return the metrics of all cases that differ most between baseline and incumbent; times are left out."""
    run = facts.run
    if run.baseline is None or run.incumbent is None or run.incumbent == run.baseline.number:
        return ()
    first, last = (facts.details[number].profiled for number in (run.baseline.number, run.incumbent))
    if first is None or last is None:
        return ()
    rows = []
    for change in changes(first.metrics, last.metrics):
        metric = describe(change.metric)
        if metric is None or parted(change.metric)[1] or metric.group == "speed":
            continue
        up = change.after > change.before
        better = None if metric.better is None else (metric.better == "up") == up
        rows.append(ReportedCounter(metric.label, change.before, change.after, metric.unit, better))
    return tuple(rows[:MOST_COUNTERS])
