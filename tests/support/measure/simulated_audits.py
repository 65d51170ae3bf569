"""Simulates contests and the audits of what they accept, on machines of several kinds."""

from dataclasses import dataclass, replace
from functools import reduce
from math import exp, hypot, log
from random import Random
from statistics import fmean

from kpd.measure.audits import AuditSamples, at_first, joined, summary, times_alone, until_next_look, wants_more
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.fresh_clock import PAIRS_A_PLACE
from kpd.measure.interval import t_half_width
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.audits import AuditSummary
from kpd.model.verdicts import Gain

CALL_NS = 1e6
FACTOR = 1.6
"""How many times as long a slow process takes."""
PLACES = 16
"""Of the code in memory, in each audit."""
WAKE_NS = 60_000
"""What the driver's clock sees of a call beside the call: its process wakes up."""


@dataclass(frozen=True)
class Machine:
    """How times differ there; all but shares are standard deviations of the logarithm of a time.

    `of_a_call` and `between` processes, and `by_place` of the code in memory. `by_process`: the candidate's gain is
    another one in each, on fresh inputs, too, where it has any. `apart`: what the two processes of an audit on fresh
    inputs differ by, and `odd` is the share of these audits where that is 0.1. Of all processes
    `slow` are slow ones. Of the calls on fresh inputs `waits` wait some milliseconds more for other work.
    """

    of_a_call: float
    between: float
    by_place: float = 0.0
    by_process: float = 0.0
    apart: float = 0.0
    odd: float = 0.0
    slow: float = 0.0
    waits: float = 0.0


@dataclass(frozen=True)
class Truth:
    """The logarithm of the candidate's time in the incumbent's, in a contest and in the audits."""

    contest: float
    fresh: float
    clocked: float
    alone: float


def honest(quick: float) -> Truth:
    """The same everywhere."""
    return Truth(quick, quick, quick, quick)


def only_in_contests(quick: float) -> Truth:
    """Nothing is there in any audit."""
    return Truth(quick, 0.0, 0.0, 0.0)


def audited(machine: Machine, truth: Truth, contests: int = 60) -> list[tuple[AuditSummary, Gain]]:
    """Return what the audits found of each gain that a contest would accept, and what the contest saw of it."""
    rng, done = Random(17), []
    for _ in range(contests):
        contest, claimed = _contest(rng, machine, truth.contest)
        if claimed.low <= 0.0 or claimed.pct < 1.0:
            continue
        audit = _audits(rng, machine, truth, at_first(claimed), at_first(claimed))
        while wants_more(found := summary(audit, contest), claimed):
            times = until_next_look(found)
            audit = joined(audit, _audits(rng, machine, truth, times, times_alone(found, claimed, times)))
        done.append((found, claimed))
    return done


def _contest(rng: Random, machine: Machine, quick: float) -> tuple[list[ProcessSample], Gain]:
    pairs = []
    for _ in range(9):
        both, own = _process(rng, machine), 0.3 * machine.between
        pairs.append((rng.gauss(both, own), rng.gauss(both + quick, hypot(own, machine.by_process))))
    ratios = [a - b for a, b in pairs]
    middle, half = fmean(ratios), t_half_width(ratios, 0.99)
    claimed = Gain(*(100 * (1 - exp(-some)) for some in (middle, middle - half, middle + half)))
    return [_sample(number, *pair) for number, pair in enumerate(pairs)], claimed


def _audits(rng: Random, machine: Machine, truth: Truth, times: int, alone: int) -> AuditSamples:
    """So many audits of one job, in which each kernel is timed `alone` so often."""
    alike = [process for _ in range(alone) for process in _alone(rng, machine, truth)]
    return replace(reduce(joined, (_audit(rng, machine, truth) for _ in range(times))), alone=tuple(alike))


def _audit(rng: Random, machine: Machine, truth: Truth) -> AuditSamples:
    """The times are of two processes that run in turns: what the machine does is in both."""
    whole, of_a = _process(rng, machine), rng.gauss(0, 0.1 if rng.random() < machine.odd else machine.apart)
    own = truth.fresh + (rng.gauss(0, machine.by_process) if truth.fresh else 0.0)
    places = [rng.gauss(0, machine.by_place) for _ in range(PLACES)]

    def calls(mean: float) -> list[float]:
        return [CALL_NS * exp(mean + rng.gauss(0, machine.of_a_call)) for _ in range(PLACES * PAIRS_A_PLACE)]

    def by_place(times: list[float]) -> list[float]:
        return [ns * exp(places[n // PAIRS_A_PLACE]) for n, ns in enumerate(times)]

    def passed(times: list[float], more: float = 0.0) -> list[float]:
        waits = [rng.expovariate(1 / 2e6) if rng.random() < machine.waits else 0.0 for _ in times]
        return [ns * exp(more) + WAKE_NS + late for ns, late in zip(times, waits, strict=True)]

    a, b = calls(whole + of_a), by_place(calls(whole + own))
    swapped = calls(whole + of_a), by_place(calls(whole + own))
    clocks = passed(a), passed(b, truth.clocked - truth.fresh)
    ns = (tuple(map(round, times)) for times in (a, b, *swapped))
    fresh = FreshCase(1, 1, True, *ns, (), *(tuple(map(round, times)) for times in clocks))
    return AuditSamples({"case": fresh}, (), 0.5, 1.0)


def _alone(rng: Random, machine: Machine, truth: Truth) -> list[ProcessSample]:
    alone = (_process(rng, machine) + n % 2 * truth.alone for n in range(6))
    return [_sample(n, one, one) for n, one in enumerate(alone)]


def _process(rng: Random, machine: Machine) -> float:
    return rng.gauss(0, machine.between) + (log(FACTOR) if rng.random() < machine.slow else 0.0)


def _sample(number: int, a: float, b: float) -> ProcessSample:
    return ProcessSample(number, {"case": CaseSample(1, (round(CALL_NS * exp(a)),), (round(CALL_NS * exp(b)),))})
