"""What a person reads of the samples: the score, and the time of each case."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, median

from kpd.measure.judge import BadSamples, clean, log_ratio, percent
from kpd.measure.samples import ProcessSample
from kpd.model.nouns import CaseTime


@dataclass(frozen=True, slots=True)
class Work:
    """What one call of a case moves and computes at the least, and the time the machine's roofline allows for it.

    `compute_us` is the time that the arithmetic alone would take; where it is the roofline, memory is not the limit.
    """

    bytes: float | None = None
    flops: float | None = None
    roofline_us: float | None = None
    compute_us: float | None = None


def score(samples: Iterable[ProcessSample]) -> float:
    """Geometric mean over the cases of the candidate's median time of a call, in microseconds; lower is better.

    Raises BadSamples, also when no sample is untainted.
    """
    kept = _some(samples)
    return geometric_mean(_median_us(kept, name, "b_ns") for name in kept[0].cases)


def case_times(samples: Iterable[ProcessSample], work: Mapping[str, Work]) -> tuple[CaseTime, ...]:
    """Each case's times and gain, with what `work` says of it; a case that `work` lacks has no roofline.

    Raises BadSamples, also when no sample is untainted.
    """
    kept = _some(samples)
    times = []
    for name in kept[0].cases:
        least = work.get(name, Work())
        candidate, incumbent = _median_us(kept, name, "b_ns"), _median_us(kept, name, "a_ns")
        gain = percent(fmean(log_ratio(sample.cases[name]) for sample in kept))
        times.append(CaseTime(name, candidate, incumbent, gain, least.bytes, least.flops, least.roofline_us))
    return tuple(times)


def _some(samples: Iterable[ProcessSample]) -> tuple[ProcessSample, ...]:
    if not (kept := clean(samples)):
        raise BadSamples("no untainted process")
    return kept


def _median_us(samples: Sequence[ProcessSample], name: str, side: str) -> float:
    cases = (sample.cases[name] for sample in samples)
    return median(time / case.reps for case in cases for time in (case.b_ns if side == "b_ns" else case.a_ns)) / 1000
