"""Estimates from the samples of a contest how much of a gain calls have on average, not in the middle alone.

A verdict takes the median of a process's quads, as other work makes some of them longer. So a candidate that is quick
in most calls, and takes a hundred times as long in a few, loses nothing there: work that it puts off, a collector of
its own, a path that some inputs take. All its calls together take that time: where they have much less of the gain,
that is what counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log
from statistics import fmean, median

from kpd.measure.fresh_cases import FreshCase
from kpd.measure.interval import half_width
from kpd.measure.judge import CONFIDENCE, log_of, log_ratio, percent
from kpd.measure.samples import CaseSample, ProcessSample, deciding
from kpd.model.verdicts import Gain, Verdict

MOST_SELDOM = 0.2
"""The share of the contest's gain that few calls may take back (a pool of threads on one CPU took a tenth), and …"""
LEAST_SELDOM = 0.03
"""… the logarithm of time that they may take in any case: of some 100 contests without such calls none had 0.003."""
ROUNDING = 1e-12
"""What logarithms of percent may be wrong by: a gain that is just there is not refused for it."""
LEFT_OUT = 2
"""The processes that count least for the candidate and are left out: other work may have disturbed some."""
LONGEST_SHARE = 0.02
"""The share of either kernel's calls on fresh inputs that is left out, the longest ones, for the same reason."""


def takes_back(contest: Sequence[ProcessSample], claimed: Gain) -> bool:
    """Return whether few calls take so long that much less than the claimed gain is left on average."""
    return longer_on_average(contest) > max(MOST_SELDOM * log_of(claimed.pct), LEAST_SELDOM) + ROUNDING


def averaged(contest: Sequence[ProcessSample]) -> Gain:
    """Return the gain that all calls of all processes have together, and its interval.

    No process is left out of what is claimed. The interval is that of what they differ by, as logarithms.
    """
    shares = [_share_of_process(one) for one in deciding(contest)]
    middle, half = -log(fmean(shares)), half_width([-log(one) for one in shares], CONFIDENCE)
    return Gain(percent(middle), percent(middle - half), percent(middle + half), CONFIDENCE)


def _share_of_process(sample: ProcessSample) -> float:
    """Return the candidate's time of all calls as a share of the incumbent's, over the cases by their weights."""
    cases = sample.judged.values()
    return exp(fmean([log(_share(case)) for case in cases], [case.weight for case in cases]))


def on_average(verdict: Verdict, contest: Sequence[ProcessSample]) -> Verdict:
    """Return the verdict with the gain of all calls, where few take much of it back and what they leave still wins."""
    if not verdict.accepted or not takes_back(contest, verdict.gain):
        return verdict
    gain = averaged(contest)
    wins = gain.low > 0 and gain.pct >= verdict.least_pct
    return replace(verdict, gain=gain, on_average=True) if wins else verdict


def longer_on_average(contest: Sequence[ProcessSample]) -> float:
    """Compute how much longer all calls of the candidate took than its gain says, as a logarithm: at the least."""
    kept = deciding(contest)
    gains = {name: fmean(log_ratio(one.judged[name]) for one in kept) for name in kept[0].judged}
    each = sorted(_longer(one.judged, gains) for one in kept)
    return log(fmean(each[:-LEFT_OUT] or each[:1]))


def _longer(cases: Mapping[str, CaseSample], gains: Mapping[str, float]) -> float:
    """Return how many times as long as by these gains all calls of a process took, by the weights of its cases."""
    times = [exp(gains[name]) * _share(case) for name, case in cases.items()]
    return fmean(times, [case.weight for case in cases.values()])


def _share(case: CaseSample) -> float:
    """Return the candidate's time as a share of the incumbent's.

    A layout's first quad is left out: its pages of memory may be touched for the first time there. Where there are no
    others, that is the share of the median.
    """
    first = 2 * case.layouts
    if len(case.a_ns) <= first:
        return exp(-log_ratio(case))
    return sum(case.b_ns[first:]) / sum(case.a_ns[first:])


def longer_on_fresh(cases: Mapping[str, FreshCase]) -> float | None:
    """Compute how much longer the candidate's calls on fresh inputs are on average than in the middle, as a logarithm.

    By as many nanoseconds as the incumbent's they may be longer: what other work takes of a call is no less of a short
    one. None where both shared a process: these audits are of few calls. Inputs that are slow are drawn in few
    processes of a contest.
    """
    if not all(case.separate for case in cases.values()):
        return None
    a, b = ([getattr(case, side) for case in cases.values()] for side in ("a_ns", "b_ns"))
    as_long = fmean(median(theirs) / median(own) for theirs, own in zip(a, b, strict=True))
    average, allowed = _average(b), max(0.0, _average(a) - 1.0) * as_long
    return log(max(average - allowed, min(average, 1.0)))


def _average(cases: Sequence[Sequence[int]]) -> float:
    """Return the mean time of all calls but the longest ones, in median calls of their cases."""
    times = sorted(time / median(one) for one in cases for time in one)
    return fmean(times[: len(times) - int(LONGEST_SHARE * len(times))])
