"""Computes from samples what people read: the score, and the time of each case."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median

from kpd.measure.judge import BadSamples, case_gain, clean, log_ratio, mean_log_ratio, percent
from kpd.measure.samples import Batches, ProcessSample
from kpd.model.faults import Implausible, Impossible
from kpd.model.profiles import CaseTime
from kpd.model.scores import Direction

MOST_TIMES = 1000.0
"""How many times as fast as the incumbent a candidate may be at most where nothing compares its results."""


@dataclass(frozen=True, slots=True)
class CaseWork:
    """The least that one call of a case moves and computes, and the time the machine's roofline allows for it.

    `compute_us` is the time that the arithmetic alone would take; where it equals the roofline, memory is not the
    limit. No program can compute the case on this machine in less than `least_us`.
    """

    bytes: float | None = None
    flops: float | None = None
    roofline_us: float | None = None
    compute_us: float | None = None
    least_us: float | None = None


def score(samples: Iterable[ProcessSample], direction: Direction = "lower") -> float:
    """Compute the weighted geometric mean over the cases of the candidate's median time of a call, in microseconds.

    Where the task's own benchmark gives a score, it is the median of that. A score for which higher is better was
    sampled as its inverse, and is inverted back. Raises BadSamples, also when no sample is untainted.
    """
    kept = _some(samples)
    cases = kept[0].judged
    logs = (log(_median_us([sample.judged[name] for sample in kept], "b_ns")) for name in cases)
    us = exp(fmean(logs, [case.weight for case in cases.values()]))
    return us if direction == "lower" else 1 / us


def case_times(samples: Iterable[ProcessSample], work: Mapping[str, CaseWork]) -> tuple[CaseTime, ...]:
    """Compute each case's times and gain, and add what `work` says of it. A case not in `work` has no roofline.

    The time on the device is the same by any clock of the host, so that of quick processes counts, too: it is the only
    figure that they change. Raises BadSamples, also when no sample is untainted.
    """
    samples = tuple(samples)
    kept, times = _some(samples), []
    untainted = [sample for sample in samples if not sample.taint]
    for name in kept[0].cases:
        least = work.get(name, CaseWork())
        timed = [sample.cases[name] for sample in kept]
        candidate, incumbent = _median_us(timed, "b_ns"), _median_us(timed, "a_ns")
        gain = case_gain(timed) if len(timed) > 1 else None
        each = (sample.cases.get(name) for sample in untainted)
        on_device = [case.device_ns for case in each if case is not None and case.device_ns]
        device, before = ([ns[at] / 1000 for ns in on_device] for at in (1, 0))
        warm = [case.warm for case in timed if case.warm]
        host = [case.host_ns[1] / 1000 for case in timed if case.host_ns]
        times.append(
            CaseTime(
                name, candidate, incumbent, gain.pct if gain else percent(log_ratio(timed[0])),
                least.bytes, least.flops, least.roofline_us,
                device_us=median(device) if device else None,
                warm_us=_median_us(warm, "b_ns") if warm else None,
                incumbent_device_us=median(before) if before else None,
                low_pct=gain.low if gain else None,
                high_pct=gain.high if gain else None,
                weight=timed[0].weight,
                host_us=median(host) if host else None,
            )
        )  # fmt: skip
    return tuple(times)


def impossible(cases: Iterable[CaseTime], work: Mapping[str, CaseWork]) -> Impossible | None:
    """Find a case that was faster than the machine allows, the most extreme one; None when there is none."""
    found = [
        (case.candidate_us / least, case, least)
        for case in cases
        if (least := work.get(case.case, CaseWork()).least_us) and case.candidate_us < least
    ]
    if not found:
        return None
    _, case, least = min(found, key=lambda one: one[0])
    return Impossible(case.case, case.candidate_us, least, case.bytes, case.flops)


def implausible(samples: Iterable[ProcessSample]) -> Implausible | None:
    """Doubt a candidate whose results nothing compares if it is more than MOST_TIMES as fast as the incumbent.

    What counts is the mean that the verdict is about. Raises BadSamples when no sample is untainted.
    """
    times = exp(fmean(mean_log_ratio(sample.judged.values()) for sample in _some(samples)))
    return Implausible(times, MOST_TIMES) if times > MOST_TIMES else None


def _some(samples: Iterable[ProcessSample]) -> tuple[ProcessSample, ...]:
    if not (kept := clean(samples)):
        raise BadSamples("no untainted process")
    return kept


def _median_us(cases: Sequence[Batches], side: str) -> float:
    return median(time / case.reps for case in cases for time in (case.b_ns if side == "b_ns" else case.a_ns)) / 1000
