"""Computes a verdict from raw samples. Pure: the same samples give the same verdict, also later from `timing.json`.

The cases that a task holds out are judged at the end.

The statistic is the mean over processes of how much quicker the candidate was, as a logarithm: differences between
processes (page placement, alignment) are the noise that counts, so a process is one observation however often it timed.

The samples are looked at again and again as they grow, and each look is another chance for luck to look like a gain.
So an acceptance has to hold at two looks in a row, each with at least `FEWEST_WON` processes: the second has fresh
processes in it that had no part in the first. `benchmarks/simulated_gates.py` shows what that costs and what it saves.

Of a callable on a GPU the first `QUICK` processes are quick ones, whose clock a kernel may have changed: they reject a
candidate that is clearly no faster. What they do not reject is judged by the processes after them alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import expm1, log
from statistics import fmean, median, stdev

from kpd.measure.interval import half_width, t_half_width
from kpd.measure.samples import CaseSample, ProcessSample, all_quick, deciding
from kpd.model.verdicts import CaseGain, Gain, HeldOut, Rule, Verdict, VerdictWord

CONFIDENCE = 0.99
QUICK_CONFIDENCE = 0.95
"""That of a trial, which decides nothing: at 99 % the interval of three processes says nothing."""
LOOKS = (2, 3, 5, 7, 9, 11, 13, 15)
FEWEST = 5
"""With fewer processes than this the only possible decision is that the candidate is slower."""
FEWEST_WON = 7
"""The fewest processes that can show a gain: five can all fall into the quicker one of two modes of code layout."""
CLEAR = LOOKS[LOOKS.index(FEWEST_WON) + 1]
"""The processes after which a clear gain is accepted."""
QUICK = 7
"""The quick processes that come first where there are any: five leave one null in four undecided."""
FAR_PCT = 10.0
"""At the first look only a gain below minus this is "slower": two processes can agree by chance."""


class BadSamples(ValueError):
    """The samples allow no verdict: impossible times, uneven cases, or too few untainted processes."""


def judge(
    samples: Iterable[ProcessSample], min_gain_pct: float, worst_case: float = 0.0, fewest: int = FEWEST_WON
) -> Verdict:
    """Compute the verdict of the untainted samples. Raises BadSamples.

    A candidate is refused that makes a case slower than `worst_case` times the incumbent's speed, beyond doubt; 0
    refuses none. `fewest` is that of an older verdict.
    """
    kept = clean(samples)
    ratios = _ratios(kept)
    if len(ratios) < LOOKS[0]:
        raise BadSamples(f"only {len(ratios)} untainted processes, a verdict needs {LOOKS[0]}: is the machine busy?")
    found = _look(ratios, min_gain_pct)
    accepted = found.wins and not all_quick(kept) and _won_before(ratios, min_gain_pct, fewest)
    verdict = Verdict(
        found.word, found.gain, len(ratios), accepted, _rule(found, accepted), min_gain_pct,
        fewest=fewest, worst_case=worst_case, spread_pct=100 * stdev(ratios),
    )  # fmt: skip
    if accepted and (worst := _too_slow(kept, worst_case)):
        return replace(verdict, accepted=False, rule="worst_case", before=verdict.rule, worst=worst)
    return verdict


def quick_gain(samples: Iterable[ProcessSample]) -> Gain:
    """Compute the gain that the untainted samples of a trial show, with Student's interval. It decides nothing.

    Raises BadSamples.
    """
    ratios = _ratios(clean(samples))
    if len(ratios) < LOOKS[0]:
        raise BadSamples(f"only {len(ratios)} untainted processes, a trial needs {LOOKS[0]}: is the machine busy?")
    middle, half = fmean(ratios), t_half_width(ratios, QUICK_CONFIDENCE)
    return Gain(percent(middle), percent(middle - half), percent(middle + half), QUICK_CONFIDENCE)


def decide(samples: Iterable[ProcessSample], min_gain_pct: float, thorough: bool = False) -> int:
    """Return how many more processes are needed until the next look; 0 when the verdict is settled.

    With `thorough` it is settled only at the last look. Tainted samples do not count, so they are measured again; the
    caller decides when to give up on them. Raises BadSamples.
    """
    kept = clean(samples)
    ratios, quick = _ratios(kept), all_quick(kept)
    missing = next((look - len(ratios) for look in LOOKS if look > len(ratios)), 0)
    if thorough or missing == 0 or len(ratios) not in LOOKS:
        return missing
    found = _look(ratios, min_gain_pct)
    hopeless = len(ratios) >= FEWEST and found.gain.high < min_gain_pct
    won = found.wins and not quick and _won_before(ratios, min_gain_pct, FEWEST_WON)
    return 0 if found.word == "slower" or hopeless or won else missing


def clean(samples: Iterable[ProcessSample]) -> tuple[ProcessSample, ...]:
    """Check the samples that decide and return them, in the order of their process numbers. Raises BadSamples."""
    kept = sorted(deciding(samples), key=lambda sample: sample.process)
    for sample, following in pairwise(kept):
        if sample.process == following.process:
            raise BadSamples(f"process {sample.process} appears twice")
        if sample.cases.keys() != following.cases.keys() or (sample.score is None) != (following.score is None):
            raise BadSamples(f"processes {sample.process} and {following.process} timed different cases")
    for sample in kept:
        if not sample.judged:
            raise BadSamples(f"process {sample.process} timed no case")
        for name, case in (*sample.cases.items(), *sample.judged.items()):
            _check(f"process {sample.process}, case {name}", case)
    return tuple(kept)


def log_ratio(case: CaseSample) -> float:
    """Compute the logarithm of the incumbent's time over the candidate's.

    It is the mean over the layouts of the median over the A B B A quads of each; positive when the candidate, B, is
    quicker.
    """
    a, b = case.a_ns, case.b_ns
    quads = [log(sum(a[at : at + 2])) - log(sum(b[at : at + 2])) for at in range(0, len(a), 2)]
    return fmean(median(quads[layout :: case.layouts]) for layout in range(case.layouts))


def case_gain(cases: Sequence[CaseSample], confidence: float = CONFIDENCE) -> Gain:
    """Compute the gain of one case, sampled in at least two processes, with Student's interval."""
    ratios = [log_ratio(case) for case in cases]
    middle, half = fmean(ratios), t_half_width(ratios, confidence)
    return Gain(percent(middle), percent(middle - half), percent(middle + half), confidence)


def percent(ratio: float) -> float:
    """Convert a log ratio to percent of time saved; very large ratios are clamped so that it stays finite."""
    return -100 * expm1(min(-ratio, 700.0))


def log_of(pct: float) -> float:
    """Return the logarithm of time that a gain in percent is, as large as can be told where that is all of it."""
    return -log(max(1 - pct / 100, 1e-9))


def _check(where: str, case: CaseSample) -> None:
    if not case.whole:
        raise BadSamples(f"{where}: batches are not whole A B B A quads")
    if not 1 <= case.layouts <= max(1, len(case.a_ns) // 2):
        raise BadSamples(f"{where}: {case.layouts} layouts in {len(case.a_ns)} batches")
    if not all(0 < time < float("inf") for time in (*case.a_ns, *case.b_ns)):
        raise BadSamples(f"{where}: a batch took a time that is not positive and finite")


def _ratios(samples: Sequence[ProcessSample]) -> list[float]:
    return [mean_log_ratio(sample.judged.values()) for sample in samples]


def mean_log_ratio(cases: Iterable[CaseSample]) -> float:
    """Compute the mean log ratio of the cases by their weights."""
    kept = tuple(cases)
    return fmean(map(log_ratio, kept), [case.weight for case in kept])


def _too_slow(samples: Sequence[ProcessSample], worst_case: float) -> CaseGain | None:
    """Return the slowest case whose whole interval is below `worst_case` times the incumbent's speed; None without one.

    The confidence allows for the number of cases (Bonferroni): of many cases, some look slow by chance.
    """
    names = samples[0].cases
    if not worst_case or not names:
        return None
    confidence = 1 - (1 - CONFIDENCE) / len(names)
    least = percent(log(worst_case))
    gains = (CaseGain(name, case_gain([sample.cases[name] for sample in samples], confidence)) for name in names)
    return min((one for one in gains if one.gain.high < least), key=lambda one: one.gain.pct, default=None)


@dataclass(frozen=True, slots=True)
class _Look:
    """What the processes so far show by themselves; `wins` is an acceptance that is not confirmed yet."""

    word: VerdictWord
    gain: Gain
    wins: bool


def _look(ratios: Sequence[float], min_gain_pct: float) -> _Look:
    middle, half = fmean(ratios), half_width(ratios, CONFIDENCE)
    gain = Gain(percent(middle), percent(middle - half), percent(middle + half), CONFIDENCE)
    word: VerdictWord = "undecided"
    if gain.low > 0:
        word = "faster"
    elif gain.high < 0 and (len(ratios) > LOOKS[0] or gain.pct <= -FAR_PCT):
        word = "slower"
    elif -min_gain_pct < gain.low and gain.high < min_gain_pct:
        word = "same"
    elif gain.high < min_gain_pct:
        word = "no_gain"
    return _Look(word, gain, word == "faster" and gain.pct >= min_gain_pct)


def _won_before(ratios: Sequence[float], min_gain_pct: float, fewest: int) -> bool:
    """Return whether the look before this one won, too, with at least `fewest` processes."""
    before = max((look for look in LOOKS if look < len(ratios)), default=0)
    return before >= fewest and _look(ratios[:before], min_gain_pct).wins


def _rule(found: _Look, accepted: bool) -> Rule:
    """Return the rule that decided."""
    if accepted:
        return "confirmed"
    if found.word == "faster":
        return "unconfirmed" if found.wins else "too_little"
    return found.word


FINAL = "final.json"
"""The file in the iteration's folder with the result on the held-out cases."""


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    """The candidate's score on the held-out cases, the incumbent's (None: it is the baseline), and the gain.

    `name` is the score's; the gain is in percent of time, positive when the candidate is quicker. `halves` are those of
    A B and of B A by themselves.
    """

    name: str
    score: float
    incumbent: float | None
    gain_pct: float
    halves: tuple[float, ...] = ()


def held_out(verdict: Verdict, final: HeldOutResult, min_gain_pct: float) -> Verdict:
    """Add the result on the held-out cases to the verdict, and reject a candidate that is slower on them.

    It is rejected only if both halves are slower, and by more than `min_gain_pct` and more than the width of the
    verdict's own interval: a single A B B A can be off by that much by chance.
    """
    if final.incumbent is None:
        return replace(verdict, held_out=HeldOut(final.name, final.score))
    noise = max(min_gain_pct, verdict.gain.high - verdict.gain.low)
    both = all(half < 0 for half in final.halves)
    said = HeldOut(final.name, final.score, final.incumbent, final.gain_pct, noise, both)
    if final.gain_pct < -noise and both:
        return replace(verdict, accepted=False, rule="held_out", before=verdict.rule, held_out=said)
    return replace(verdict, held_out=said)
