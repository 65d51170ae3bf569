"""Estimates gains from calls on fresh inputs: by the calls' own times, by the driver's clock, and what is kept.

Each is a weighted mean over the cases, in logarithms of time. All calls of an audit are of one process for either
kernel: that process may be in a state that no other one has, so audits are compared by what each of them tells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, log, sqrt
from statistics import fmean, median, median_low, stdev

from kpd.measure.audit_gains import CONFIDENCE, LAST_CONFIDENCE, STEADY, case_weights, half_width, level
from kpd.measure.fresh_cases import FreshCase, parts_of
from kpd.measure.fresh_clock import gain_by_clock, quickest_by_place
from kpd.measure.judge import percent
from kpd.measure.orders import deviation, median_bounds, variance_of_median
from kpd.measure.samples import ProcessSample, deciding
from kpd.model.audits import AuditedGain

COLDER_NS = 20.0
"""How much more than the incumbent's a call of the candidate may take for the state of caches, as its code is another:
two steps of a clock, or a missed branch or two. It matters for calls of less than a microsecond."""
FEW_CONFIDENCE = 0.95
"""How sure audits must be after the last one where they are too few to go by their order."""
OWN_CONFIDENCE = 0.99
"""The same of what their gains differ by from one audit to the next."""
BY_PLACE = 3.0
"""Then a kernel's own times differ by so many times the gain seen there at the most, where that is more than `STEADY`
times what the incumbent's do: it can have another gain in each place of its code. One that slows its own calls down has
little of a gain to be seen, in whichever places."""
PAIRS_IN_A_ROW = 10
"""Pairs that follow one another have a state of the code in common: of callables and on a GPU, where it stays in one
place, so many."""
FEW_ROWS = 6
"""So few rows of calls on fresh inputs say too little of what rows differ by."""
WITHOUT_ONE = 5
"""So many processes, before the last audit, are as quick as the second slowest: one may be in a state of its own."""


def fresh_gain(cases: Mapping[str, FreshCase], contest: Sequence[ProcessSample], last: bool = False) -> AuditedGain:
    """Compute the gain on fresh inputs: the median over the processes of their weighted means over the cases.

    In a case it is the median over the pairs. A kernel has calls of its own in each process, and a state of it that
    all of them share: so its processes differ by more than those of a contest, in each of which both kernels are.
    Where these were alone in their processes, of the calls that follow one another in a place the quickest counts, or
    of several places where calls take long: code that lies badly makes a call longer by a third.
    """

    def of_process(part: Mapping[str, FreshCase]) -> tuple[float, float]:
        ratios, variances = {}, {}
        for name, one in part.items():
            a, b = map(quickest_by_place, (one.a_ns, one.b_ns)) if one.b_passed_ns else (one.a_ns, one.b_ns)
            ratios[name] = _ratios(a, b)
            most = _most(a, ratios[name]) if last else inf
            variances[name] = _variance_by_place(ratios[name], most, 1 if one.b_passed_ns else PAIRS_IN_A_ROW)
        return _over_cases(ratios, variances, case_weights(contest))

    pairs = sum(len(one.a_ns) - 1 for one in cases.values())
    return _over_audits([of_process(part) for part in _processes(cases)], contest, pairs, last)


def gain_in_rows(
    cases: Mapping[str, FreshCase], contest: Sequence[ProcessSample], last: bool = False
) -> AuditedGain | None:
    """Compute the gain on fresh inputs where calls follow one another as in a contest; None where none did.

    A launch that takes long is hidden there behind the calls before it, and is not where calls are timed one by one.
    Of FEW_ROWS or fewer all but one may be disturbed, so the largest gain of a row bounds what may be there.
    """
    if all(one.rows is None for one in cases.values()):
        return None
    in_rows = {
        name: FreshCase(one.rows.calls, one.rows.compared, one.anew, one.rows.a_ns, one.rows.b_ns)
        if one.rows is not None
        else replace(one, taken=(), swapped_taken=())
        for name, one in cases.items()
    }
    found = fresh_gain(in_rows, contest, last)
    if min(len(one.rows.a_ns) for one in cases.values() if one.rows is not None) > FEW_ROWS:
        return found
    largest = {name: [max(_ratios(one.a_ns, one.b_ns))] for name, one in in_rows.items()}
    most, _ = _over_cases(largest, dict.fromkeys(largest, 0.0), case_weights(contest))
    return AuditedGain(found.pct, found.low, max(found.high, percent(most)))


def clocked_gain(
    cases: Mapping[str, FreshCase], contest: Sequence[ProcessSample], last: bool = False
) -> AuditedGain | None:
    """Compute the gain on fresh inputs by the driver's clock, which no kernel can reach; None for older samples.

    By that a call lasts longer than it does: until the worker is awake, and until the driver has heard of its end. That
    is alike for both kernels (see `gain_by_clock`).
    """
    if not all(one.b_passed_ns for one in cases.values()):
        return None

    def of_process(part: Mapping[str, FreshCase]) -> tuple[float, float]:
        found = {
            name: gain_by_clock(one.a_ns, one.b_ns, one.a_passed_ns, one.b_passed_ns) for name, one in part.items()
        }
        gains = {name: [gain] for name, (gain, _) in found.items()}
        return _over_cases(gains, {name: variance for name, (_, variance) in found.items()}, case_weights(contest))

    fewest = min(len(quickest_by_place(one.b_passed_ns)) for one in cases.values()) - 1
    return _over_audits([of_process(part) for part in _processes(cases)], contest, fewest, last)


def _processes(cases: Mapping[str, FreshCase]) -> list[Mapping[str, FreshCase]]:
    """Return the calls of each process by themselves; of all together where it is not known whose they are."""
    counts = {
        len(some)
        for one in cases.values()
        for some in (one.taken, one.swapped_taken if one.swapped_a_ns else one.taken)
    }
    if counts == {0} or len(counts) != 1:
        return [cases]
    parts = {name: parts_of(one) for name, one in cases.items()}
    return [{name: some[at] for name, some in parts.items()} for at in range(counts.pop())]


def _over_audits(
    each: Sequence[tuple[float, float]], contest: Sequence[ProcessSample], dof: int, last: bool
) -> AuditedGain:
    """Return the lower median over the processes, each with a gain and its variance, and its interval.

    After the last audit only the order of the processes counts, where there are enough: whatever makes them differ, the
    quicker ones show how much may be there, and a kernel cannot make those quicker than it is. Before, an audit is off
    by as much as processes of the contest differ, and as those of the audits do. Of three or more the lower end is then
    what the slowest shows.
    """
    gains = [gain for gain, _ in each]
    middle, processes = median_low(gains), len(gains)
    bounds = median_bounds(gains, LAST_CONFIDENCE)
    if last and bounds is not None:
        return AuditedGain(percent(middle), *map(percent, bounds))
    error = sqrt((fmean(variance for _, variance in each) + _between(contest, last) ** 2) / processes)
    half = half_width(error, dof, FEW_CONFIDENCE if last else CONFIDENCE)
    low = middle - half
    if processes > 2:
        of_few = half_width(stdev(gains) / sqrt(processes), processes - 1, OWN_CONFIDENCE if last else CONFIDENCE)
        half = min(half, of_few) if last else max(half, of_few)
        low = middle - half if last else sorted(gains)[processes >= WITHOUT_ONE]
    high = middle + half if bounds is None else max(middle + half, bounds[1])
    return AuditedGain(percent(middle), percent(low), percent(high))


def _between(contest: Sequence[ProcessSample], last: bool) -> float:
    """Return by how much the gain differs between the processes of the contest, as a standard deviation.

    After the last audit it is no more than what the incumbent's times tell: a kernel can make its own differ.
    """
    a, b = ([level(sample, side) for sample in deciding(contest)] for side in ("a_ns", "b_ns"))
    ratios = [one - other for one, other in zip(a, b, strict=True)]
    return min(deviation(ratios), STEADY * deviation(a) if last else inf)


def cold_share(cases: Mapping[str, FreshCase], contest: Sequence[ProcessSample]) -> float:
    """Compute which share of its gain a candidate keeps that pays a little more for the state of the caches.

    In a contest code, branch predictors and data are warm from the call before; on fresh inputs they are not. A call
    of the incumbent is longer by so much. One of the candidate may be so by twice as much, but no more than COLDER_NS
    above: of short calls that is a large part. Of batches shorter than what they take besides half of both is shown.
    Where there is that, for callables, processes differ by more than caches cost: the incumbent's quickest one counts.
    """
    weights = case_weights(contest)
    warm, cold = 0.0, 0.0
    for name, one in cases.items():
        a, b = (median(_calls_ns(contest, name, side)) for side in ("a_ns", "b_ns"))
        usual = min(_calls_ns(contest, name, "a_ns")) if one.request_ns else a
        beside, shown = one.request_ns / one.reps, median(one.a_ns) / one.reps
        more = max((shown if shown >= beside else 2 * shown - beside) - usual, 0.0)
        colder = b + more + min(more, COLDER_NS)
        warm += weights[name] * log(a / b)
        cold += weights[name] * log(_shown(a + more, beside) / _shown(colder, beside))
    return min(max(cold / warm, 0.0), 1.0) if warm > 0 else 1.0


def _shown(call_ns: float, beside_ns: float) -> float:
    """Return what is left of a call's time and what is beside it, of which no more than half of both is taken off."""
    return max(call_ns, (call_ns + beside_ns) / 2)


def _calls_ns(contest: Sequence[ProcessSample], name: str, side: str) -> list[float]:
    """Return the time of a call in each process."""
    cases = [sample.cases[name] for sample in deciding(contest)]
    return [median(getattr(case, side)) / case.reps for case in cases]


def kept_gain(cases: Mapping[str, FreshCase], weights: Mapping[str, float]) -> AuditedGain | None:
    """Compute by how much the gain on inputs that hardly change is above that on fresh ones; None for older samples.

    Both were taken in one process and in the same places, and their calls differ in nothing but the contents. So
    neither the spread between processes and places nor the state of caches is in it. Of seven processes and more the
    order counts: in some of them the one kind of calls may be in another state than the other.
    """
    if not all(one.swapped_a_ns for one in cases.values()):
        return None
    each = [_kept(part, weights)[0] for part in _processes(cases)]
    if (bounds := median_bounds(each, LAST_CONFIDENCE)) is not None:
        return AuditedGain(percent(median_low(each)), *map(percent, bounds))
    middle, variance = _kept(cases, weights)
    fewest = min(min(len(one.a_ns), len(one.swapped_a_ns)) - 1 for one in cases.values())  # few where calls take long
    half = half_width(sqrt(variance), fewest)
    return AuditedGain(percent(middle), percent(middle - half), percent(middle + half))


def _kept(cases: Mapping[str, FreshCase], weights: Mapping[str, float]) -> tuple[float, float]:
    """Return that difference, and its variance."""
    fresh = {name: _ratios(one.a_ns, one.b_ns) for name, one in cases.items()}
    swapped = {name: _ratios(one.swapped_a_ns, one.swapped_b_ns) for name, one in cases.items()}
    (middle, variance), (less, more) = (
        _over_cases(some, {name: variance_of_median(its) for name, its in some.items()}, weights)
        for some in (swapped, fresh)
    )
    return middle - less, variance + more


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


def _most(a_ns: Sequence[int], ratios: Sequence[float]) -> float:
    """Return the most that a deviation counts after the last audit: a kernel can make its own times differ."""
    return max(STEADY * deviation([log(ns) for ns in a_ns]), BY_PLACE * median(ratios))


def _variance_by_place(ratios: Sequence[float], most: float, alike: int) -> float:
    """Estimate it for pairs in several places: a place counts as one value where these differ by more than pairs.

    So many pairs that follow one another are of one place.
    """
    places = [median(ratios[at : at + alike]) for at in range(0, len(ratios), alike)]
    return max(variance_of_median(ratios, most), variance_of_median(places, most))
