"""Estimates gains from the samples of the audits: on fresh inputs, between processes that time one kernel, and kept.

Each is a weighted mean over the cases, in logarithms of time, with the error that its samples tell.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import hypot, inf, log, sqrt
from statistics import fmean, median, stdev

from kpd.measure.clocks import lengthening
from kpd.measure.interval import t_quantile
from kpd.measure.judge import CONFIDENCE as JUDGED, percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.audits import AuditedGain

COLDER_NS = 20.0
"""How much more than the incumbent's a call of the candidate may take for the state of caches, as its code is another:
two steps of a clock, or a missed branch or two. It matters for calls of less than a microsecond."""
CONFIDENCE = 0.999
"""How sure an audit must be that less than that is there, one-sided."""
LAST_CONFIDENCE = 0.95
"""How sure audits must be after the last one: doubt that remains does not make up for a gain that is not seen."""
OWN_CONFIDENCE = 0.99
"""The same of what the processes on fresh inputs say together: there are as few of them as audits."""
STEADY = 2.0
"""The most that the candidate's spread counts then, in the incumbent's: it can make its own times differ."""
BY_PLACE = 3.0
"""On fresh inputs it counts so many times the gain seen there, where that is more: a kernel can have another gain in
each place of its code. One that slows its own calls down has little of a gain to be seen, in whichever places.
"""
QUARTER = 0.25
"""Of single calls by the driver's clock, and of processes: shorter ones tell of the kernel, others of other work."""
PAIRS_A_PLACE = 10
"""Pairs of batches with the code in one place of the memory (fresh.c): their times have the state of that in common."""
_SIGMA = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""
_MEDIAN = 1.2533
"""The standard error of a median of normal values, in that of their mean."""


@dataclass(frozen=True, slots=True)
class FreshCase:
    """Batches of a case, each of `reps` calls on inputs of their own: A's and B's of one pair came in random order.

    `compared` of B's batches were compared with the truth. `anew`: the harness filled all inputs of each call; else its
    elements were put into another order. In the swapped batches, which came before, inputs hardly changed, as in a
    contest; all else was the same (older samples lack them). `taken` are the pairs of each process, where there were
    several. The driver's own clock passed by so much from asking for a call to hearing of its end.
    """

    reps: int
    compared: int
    anew: bool
    a_ns: tuple[int, ...]
    b_ns: tuple[int, ...]
    swapped_a_ns: tuple[int, ...] = ()
    swapped_b_ns: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    a_passed_ns: tuple[int, ...] = ()
    b_passed_ns: tuple[int, ...] = ()


def fresh_gain(
    cases: Mapping[str, FreshCase], contest: Sequence[ProcessSample], processes: int = 1, last: bool = False
) -> AuditedGain:
    """Compute the gain on fresh inputs: the weighted mean over the cases of the median over the pairs.

    They are of so few `processes` that its error has the spread of the gain between the processes of the contest. After
    the last audit it is no more than what their own gains tell: a kernel can make those of a contest differ.
    """
    ratios, weights = {name: _ratios(one.a_ns, one.b_ns) for name, one in cases.items()}, case_weights(contest)
    variances = {name: _variance_by_place(ratios[name], one.a_ns if last else None) for name, one in cases.items()}
    middle, variance = _over_cases(ratios, variances, weights)
    error = sqrt(variance + _between(contest, last) ** 2 / processes)
    found = _gain(middle, error, sum(len(some) - 1 for some in ratios.values()), last)
    if not last or len(apart := _by_process(cases, ratios, weights)) < 2:
        return found
    half = t_quantile(OWN_CONFIDENCE, len(apart) - 1) * stdev(apart) / sqrt(len(apart))
    return min(found, AuditedGain(found.pct, percent(middle - half), percent(middle + half)), key=lambda one: one.high)


def clocked_gain(
    cases: Mapping[str, FreshCase], contest: Sequence[ProcessSample], processes: int = 1, last: bool = False
) -> AuditedGain | None:
    """Compute the gain on fresh inputs by the driver's clock, which no kernel can reach; None for older samples.

    By that a call lasts longer than it does: until the worker is awake, and until the driver has heard of its end. That
    is alike for both kernels, so their calls differ by as much as what was called. It is added to A's own time.
    """
    if not all(one.b_passed_ns for one in cases.values()):
        return None
    middles: dict[str, Sequence[float]] = {}
    variances: dict[str, float] = {}
    for name, one in cases.items():
        (a_passed, a_error), (b_passed, b_error) = map(_undisturbed, (one.a_passed_ns, one.b_passed_ns))
        a_ns = median(one.a_ns)
        b_ns = max(a_ns + b_passed - a_passed, 1.0)
        middles[name], variances[name] = [log(a_ns / b_ns)], (a_error**2 + b_error**2) / b_ns**2
    middle, variance = _over_cases(middles, variances, case_weights(contest))
    fewest = min(len(one.b_passed_ns) for one in cases.values()) - 1
    return _gain(middle, sqrt(variance + _between(contest, last) ** 2 / processes), fewest, last)


def _undisturbed(times: Sequence[float]) -> tuple[float, float]:
    """Return the lower quartile of times, and its standard error, however they are distributed.

    Other work on the machine only makes times longer, on a busy one most of them, but hardly ever three in four.
    """
    ordered, many = sorted(times), len(times)
    at, error = QUARTER * (many - 1), sqrt(QUARTER * (1 - QUARTER) * many)
    least, middle, most = (ordered[min(max(round(rank), 0), many - 1)] for rank in (at - error, at, at + error))
    return middle, (most - least) / 2


def _between(contest: Sequence[ProcessSample], last: bool) -> float:
    """Return by how much the gain differs between the processes of the contest, as a standard deviation.

    After the last audit it is no more than what the incumbent's times tell: a kernel can make its own differ.
    """
    a, b = ([_level(sample, side) for sample in _clean(contest)] for side in ("a_ns", "b_ns"))
    return min(
        _deviation([one - other for one, other in zip(a, b, strict=True)]), STEADY * _deviation(a) if last else inf
    )


def _by_process(
    cases: Mapping[str, FreshCase], ratios: Mapping[str, Sequence[float]], weights: Mapping[str, float]
) -> list[float]:
    """Return the gain on fresh inputs in each process, as a logarithm; empty where that is not known."""
    ends = {name: list(accumulate(one.taken)) for name, one in cases.items()}
    if len({len(some) for some in ends.values()}) != 1:
        return []
    parts = zip(*([ratios[name][a:b] for a, b in pairwise([0, *some])] for name, some in ends.items()), strict=True)
    nothing = dict.fromkeys(cases, 0.0)
    return [_over_cases(dict(zip(cases, part, strict=True)), nothing, weights)[0] for part in parts]


def steady_error(contest: Sequence[ProcessSample]) -> float:
    """Return how much the error of the contest's gain may count after the last audit, as a logarithm.

    It is what processes tell that differ by no more than `STEADY` times what the incumbent's times do: a kernel that
    has another gain in each process makes the error as large as it likes.
    """
    levels = [_level(sample, "a_ns") for sample in _clean(contest)]
    return STEADY * t_quantile((1 + JUDGED) / 2, len(levels) - 1) * stdev(levels) / sqrt(len(levels))


def cold_share(cases: Mapping[str, FreshCase], contest: Sequence[ProcessSample]) -> float:
    """Compute which share of its gain a candidate keeps that pays a little more for the state of the caches.

    In a contest code, branch predictors and data are warm from the call before; on fresh inputs they are not. A call
    of the incumbent is longer by so much. One of the candidate may be so by twice as much, but no more than COLDER_NS
    above: of short calls that is a large part.
    """
    weights = case_weights(contest)
    warm, cold = 0.0, 0.0
    for name, one in cases.items():
        a, b = (_call_ns(contest, name, side) for side in ("a_ns", "b_ns"))
        more = max(median(one.a_ns) / one.reps - a, 0.0)
        warm += weights[name] * log(a / b)
        cold += weights[name] * log((a + more) / (b + more + min(more, COLDER_NS)))
    return min(max(cold / warm, 0.0), 1.0) if warm > 0 else 1.0


def _call_ns(contest: Sequence[ProcessSample], name: str, side: str) -> float:
    cases = [sample.cases[name] for sample in _clean(contest)]
    return float(median(median(getattr(case, side)) / case.reps for case in cases))


def _clean(contest: Sequence[ProcessSample]) -> list[ProcessSample]:
    return [sample for sample in contest if not sample.taint]


def kept_gain(cases: Mapping[str, FreshCase], weights: Mapping[str, float]) -> AuditedGain | None:
    """Compute by how much the gain on inputs that hardly change is above that on fresh ones; None for older samples.

    Both were taken in one process and in the same places, and their calls differ in nothing but the contents. So
    neither the spread between processes and places nor the state of caches is in it.
    """
    if not all(one.swapped_a_ns for one in cases.values()):
        return None
    fresh = {name: _ratios(one.a_ns, one.b_ns) for name, one in cases.items()}
    swapped = {name: _ratios(one.swapped_a_ns, one.swapped_b_ns) for name, one in cases.items()}
    (middle, variance), (less, more) = (
        _over_cases(some, {name: _variance(its) for name, its in some.items()}, weights) for some in (swapped, fresh)
    )
    fewest = min(len(some) - 1 for some in (*fresh.values(), *swapped.values()))  # where calls take long there are few
    return _gain(middle - less, sqrt(variance + more), fewest)


def _ratios(a_ns: Sequence[int], b_ns: Sequence[int]) -> list[float]:
    return [log(a / b) for a, b in zip(a_ns, b_ns, strict=True)]


def _over_cases(
    ratios: Mapping[str, Sequence[float]], variances: Mapping[str, float], weights: Mapping[str, float]
) -> tuple[float, float]:
    """Return the weighted mean of the cases' medians, and its variance."""
    whole = sum(weights[name] for name in ratios)
    shares = {name: weights[name] / whole for name in ratios}
    return (
        sum(shares[name] * median(some) for name, some in ratios.items()),
        sum(shares[name] ** 2 * variances[name] for name in ratios),
    )


def _variance(values: Sequence[float], most: float = inf) -> float:
    """Estimate the variance of their median; their deviation counts `most` of it."""
    return (_MEDIAN * min(_deviation(values), most)) ** 2 / len(values)


def _variance_by_place(ratios: Sequence[float], steady_ns: Sequence[int] | None) -> float:
    """Estimate it for pairs in several places: where these differ by more than pairs do, a place counts as one value.

    With the times `steady_ns` no deviation counts that is far above theirs, and above the gain.
    """
    places = [median(ratios[at : at + PAIRS_A_PLACE]) for at in range(0, len(ratios), PAIRS_A_PLACE)]
    most = inf
    if steady_ns is not None:
        most = max(STEADY * _deviation([log(ns) for ns in steady_ns]), BY_PLACE * median(ratios))
    return max(_variance(ratios, most), _variance(places, most))


def _call(case: CaseSample, side: str) -> float:
    """Return the logarithm of the time of a call."""
    return log(median(getattr(case, side)) / case.reps)


def by_driver(case: CaseSample, side: str) -> float:
    """Return the logarithm of the time of a call by the driver's clock, which no kernel can change."""
    return _call(case, side) + log(lengthening(case))


def _level(sample: ProcessSample, side: str) -> float:
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

    Other work only makes them longer, so in each case the shorter quarter of them counts. The error is at least that
    of the contest's own processes.
    """
    weights, beside = case_weights(contest), _clean(contest)
    levels, errors = [], []
    for number, side in enumerate(("a_ns", "b_ns")):
        own = [sample for sample in alone if sample.process % 2 == number]
        level, error = _over_processes(own, side, weights, time)
        levels.append(level)
        errors.append(max(error, _over_processes(beside, side, weights, _call)[1] * sqrt(len(beside) / len(own))))
    if last:
        errors[1] = min(errors[1], STEADY * errors[0])
    return _gain(levels[0] - levels[1], hypot(*errors), len(alone) - 2, last)


def _over_processes(
    samples: Sequence[ProcessSample], side: str, weights: Mapping[str, float], time: Callable[[CaseSample, str], float]
) -> tuple[float, float]:
    """Return the weighted mean over the cases of the undisturbed time of a call, a logarithm, and its standard error.

    What disturbs a process is in several of its cases: their errors are not independent.
    """
    whole = sum(weights.values())
    found = {name: _undisturbed([time(sample.cases[name], side) for sample in samples]) for name in weights}
    level, error = (sum(weights[name] * some[at] for name, some in found.items()) / whole for at in (0, 1))
    return level, error


def case_weights(contest: Sequence[ProcessSample]) -> dict[str, float]:
    """Return how much each case counts in a mean over the cases."""
    return {name: case.weight for name, case in contest[0].cases.items()}


def _deviation(values: Sequence[float]) -> float:
    """Estimate the standard deviation robustly; 0 for a single value."""
    middle = median(values)
    return _SIGMA * median(abs(value - middle) for value in values)


def _gain(middle: float, error: float, dof: int, last: bool = False) -> AuditedGain:
    half = t_quantile(LAST_CONFIDENCE if last else CONFIDENCE, max(dof, 3)) * error
    return AuditedGain(percent(middle), percent(middle - half), percent(middle + half))
