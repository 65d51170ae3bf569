"""Judges what must hold of a gain before its candidate is accepted: pure, from the audits' own samples.

A gain is believed where it is there on inputs that are new in every call, and where each kernel is timed without the
other one; both as a logarithm of the time, and as far as the errors of audit and contest tell. The audits find gains
that come from elsewhere, and decide none: they are far shorter than a contest, and their caches are in another state.
So a candidate is refused only beyond doubt, and what that state costs the incumbent may cost the candidate, too. Calls
that differ from those on new inputs in nothing but the contents need no such allowance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import expm1, hypot, log1p

from msgspec import structs

from kpd.measure.audit_gains import alone_gain, by_driver, by_turns, case_weights, steady_error
from kpd.measure.averages import ROUNDING, longer_on_average, longer_on_fresh, takes_back
from kpd.measure.fresh_cases import FreshCase, joined_cases
from kpd.measure.fresh_gains import clocked_gain, cold_share, fresh_gain, gain_in_rows, kept_gain
from kpd.measure.judge import log_of, percent
from kpd.measure.keeping import kept_beside
from kpd.measure.samples import ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.faults import GainNotHeld, GainUnconfirmed
from kpd.model.verdicts import Gain, Verdict

FRESH_SHARE = 0.8
"""The share of the contest's gain that must be possible on fresh inputs …"""
SINGLE_SHARE = 0.25
"""… and the share one by one, where calls were also timed in a row, as in a contest, and have the other share there."""
ALONE_SHARE = 0.5
"""The share that must be possible alone: in few processes, any of which other work may have disturbed."""
LEAST_SHARE = 0.5
"""The share that the median process must show after the last audit, where these still leave doubt."""
MOST_KEPT = 0.1
"""The share of the contest's gain that may be there only while inputs hardly change, …"""
SURELY_KEPT = 0.05
"""… of which so much may be sure, where an audit's process has both kernels: on a GPU, where 45 audits of honest ones
were sure of nothing, …"""
KEPT_BESIDE = 0.5
"""The share from which that is refused even where the contest had nothing of it."""
LEAST_KEPT = 0.03
"""… and the logarithm of time that may be in any case: contents that come again are easier to predict."""
FRESH_SELDOM, LEAST_FRESH_SELDOM = 0.25, 0.15
"""What some calls on fresh inputs may take back, as MOST_SELDOM and LEAST_SELDOM in a contest: few calls are timed
there, one by one. Of 112 audits of honest kernels one had 0.08, by shares of either kernel's own time, not by
nanoseconds as now."""
FEWEST_REFUSING = 7
"""So many audits refuse a gain at the least, where each kernel has a process of its own: three can be in one state."""
MOST_TOGETHER = 3
"""How often they are taken while the gain seems not to be there, where a process of an audit has both kernels; and how
often each callable is timed alone."""
MOST_AUDITS = 11
"""The same where each has a process of its own: of eleven the second one bounds what is there with 99.4 %."""
LOOKS = (3, 5, FEWEST_REFUSING, MOST_AUDITS)
"""After so many it is asked whether more are wanted, where one job takes several: others hardly ever tell more."""
FEWEST_ALONE = 4
"""Processes that time one kernel only, in an audit."""
SMALL_PCT = 10.0
"""There one audit tells of no gain below that: 12 of 423 were off by 4 to 23 %."""


@dataclass(frozen=True, slots=True)
class AuditSamples:
    """What the audits of one candidate measured: `audit.json`.

    In `alone`, processes of even numbers timed A only, if they are not `apart`. The audits were taken `times`; each
    time all fresh inputs were of one process. The last one ended `whole_s` after the contest, repeats and all.
    """

    fresh: dict[str, FreshCase]
    alone: tuple[ProcessSample, ...]
    fresh_s: float
    alone_s: float
    times: int = 1
    whole_s: float = 0.0


def summary(audit: AuditSamples, contest: Sequence[ProcessSample]) -> AuditSummary:
    """Return what is told of the audits: gains, coverage and seconds."""
    cases = audit.fresh.values()
    apart = all(one.separate for one in cases)
    callables = all(one.apart for one in cases)
    last = audit.times >= (MOST_AUDITS if apart else MOST_TOGETHER)
    last_alone = len(audit.alone) >= MOST_TOGETHER * FEWEST_ALONE if callables else last
    clocked = all(case.clock and case.clock.spent_ns for sample in audit.alone for case in sample.cases.values())
    return AuditSummary(
        fresh_gain(audit.fresh, contest, last),
        alone_gain(audit.alone, contest, last_alone),
        sum(case.reps * len(case.a_ns) + (case.rows.calls * len(case.rows.a_ns) if case.rows else 0) for case in cases),
        sum(case.compared + (case.rows.compared if case.rows else 0) for case in cases),
        audit.fresh_s + audit.alone_s,
        sum(sample.compared is False for sample in (*contest, *audit.alone)),
        sum(sample.compared is not None for sample in (*contest, *audit.alone)),
        kept_beside(contest) or kept_gain(audit.fresh, case_weights(contest)),
        cold_share(audit.fresh, contest),
        alone_gain(audit.alone, contest, last, by_driver) if clocked else None,
        clocked_gain(audit.fresh, contest, last),
        percent(steady_error(contest)) if last else None,
        audit.times,
        callables,
        by_turns(audit.alone),
        None if (longer := longer_on_fresh(audit.fresh)) is None else 100 * expm1(longer),
        gain_in_rows(audit.fresh, contest, last),
        audit.whole_s or None,
    )


def refuse_contest(contest: Sequence[ProcessSample], verdict: Verdict) -> GainNotHeld | None:
    """Return the fault of a candidate whose gain all samples of its own contest together do not bear out."""
    average = None if verdict.on_average else refuse_average(contest, verdict.gain)
    return average or refuse_kept(contest, verdict.gain)


def refuse_kept(contest: Sequence[ProcessSample], claimed: Gain) -> GainNotHeld | None:
    """Return the fault of a candidate much of whose gain is there only while inputs hardly change, by the contest."""
    kept = kept_beside(contest)
    if kept is None or log_of(kept.low) <= max(MOST_KEPT * log_of(claimed.low), LEAST_KEPT):
        return None
    return GainNotHeld("kept", claimed.low, kept.pct, kept.low)


def refuse_average(contest: Sequence[ProcessSample], claimed: Gain) -> GainNotHeld | None:
    """Return the fault of a candidate some of whose calls take so long that little of its gain is left on average."""
    if not takes_back(contest, claimed):
        return None
    average = percent(log_of(claimed.pct) - longer_on_average(contest))
    return GainNotHeld("average", claimed.pct, average, average)


def refuse_gain(found: AuditSummary, claimed: Gain) -> GainNotHeld | GainUnconfirmed | None:
    """Return the fault of a candidate whose gain is not there in an audit; None where all agree with the contest.

    Where each had processes of its own on fresh inputs, and these show too little after the last audit, but do not
    exclude that it is there, that is another fault.
    """
    missing = _missing(found, claimed)
    if missing is not None or found.steady is None or not _separate(found):
        return missing
    claims, share = _steadied(claimed, found.steady), LEAST_SHARE * found.cold
    if not _holds(_sure(found.fresh), claims, share):
        return GainUnconfirmed("fresh", claimed.pct, found.fresh.pct, found.fresh.low, found.fresh.high)
    if found.clocked is not None and not _holds(_sure(found.clocked), claims, share):
        return GainUnconfirmed("clocked", claimed.pct, found.clocked.pct, found.clocked.low, found.clocked.high)
    return None


def wants_more(found: AuditSummary, claimed: Gain) -> bool:
    """Return whether the audits do not tell yet, so that more are taken.

    They do where the gain seems to be there, or where enough of them refuse it. All fresh inputs of an audit are of one
    process for either kernel: what other work does to that, or where it lies in memory, is in every one of its calls.
    Where these are two processes, one audit tells of no small gain, and none of one that may be nothing by its errors,
    or of which, with a clock of the driver's, less than half is seen.
    """
    times, apart = found.times or 1, _separate(found)
    if found.steady is not None:
        return False
    seems = _seems_missing(found, claimed)
    if seems is not None and (seems.audit != "alone" or wants_alone(found, claimed)):
        return not apart or times < FEWEST_REFUSING or _missing(found, claimed) is None
    gains = [gain for gain in (found.fresh, found.clocked) if gain is not None]
    half = LEAST_SHARE * found.cold * log_of(claimed.pct) - ROUNDING
    if found.clocked is not None and min(log_of(gain.pct) for gain in gains) < half:
        return True
    return apart and (min(gain.low for gain in gains) <= 0 or (times == 1 and claimed.pct < SMALL_PCT))


def at_first(claimed: Gain) -> int:
    """Return how many are taken before it is asked whether more are: more where half of a small gain is in doubt."""
    if claimed.pct >= SMALL_PCT:
        return 1
    return LOOKS[1] if log_of(claimed.low) < LEAST_SHARE * log_of(claimed.pct) else LOOKS[0]


def until_next_look(found: AuditSummary) -> int:
    """Return how many more audits are to be taken until that is asked again."""
    times = found.times or 1
    return next((look for look in LOOKS if look > times), times + 1) - times


def times_alone(found: AuditSummary, claimed: Gain, more: int) -> int:
    """Return how often each kernel is to be timed alone in a job that takes so many `more` audits."""
    last = (found.times or 1) + more == MOST_AUDITS
    return more if wants_alone(found, claimed, last) else 0


def wants_rows(found: AuditSummary, claimed: Gain) -> bool:
    """Return whether another audit is to time calls on fresh inputs also in a row, where both kernels share a process.

    That can take seconds, so it is done only where too little of a gain is there one by one, but a quarter may be.
    """
    some = _holds(found.fresh, claimed, SINGLE_SHARE * found.cold)
    return not _separate(found) and some and not _holds(_sure(found.fresh), claimed, FRESH_SHARE * found.cold)


def wants_alone(found: AuditSummary, claimed: Gain, last: bool = False) -> bool:
    """Return whether another audit has to time each kernel alone, too: where half of the gain seems to be missing.

    In the `last` job unless half is there beyond doubt. Processes of callables take long to start, and neither can
    change the other: MOST_TOGETHER times at the most, and once where the gain is so small that they do not tell.
    """
    if not found.apart:
        bound = _at_least if last else _sure
        seen = (gain for gain in (found.alone, found.driver) if gain is not None)
        return not all(_holds(bound(gain), claimed, ALONE_SHARE) for gain in seen)
    tells = (found.times or 1) < MOST_TOGETHER and _alone_tells(found, claimed)
    return tells and not _holds(_sure(found.alone), claimed, ALONE_SHARE)


def _alone_tells(found: AuditSummary, claimed: Gain) -> bool:
    """Return whether each kernel alone says anything of such a gain: of a callable's small one few processes do not."""
    return not (found.apart or found.by_turns) or claimed.pct >= SMALL_PCT


def _separate(found: AuditSummary) -> bool:
    """Return whether each kernel had a process of its own on fresh inputs; of older audits the driver's clock tells."""
    return found.apart or found.clocked is not None


def _missing(found: AuditSummary, claimed: Gain) -> GainNotHeld | None:
    """Return in which audit too little of the gain is there, beyond doubt."""
    steady = _steadied(claimed, found.steady)
    if (fresh := _missing_on_fresh(found, steady)) is not None:
        return GainNotHeld("fresh", claimed.pct, fresh.pct, fresh.high)
    if found.kept is not None and (_keeps(found, found.kept, claimed) or _kept_beside(found.kept.low, claimed)):
        return GainNotHeld("kept", claimed.low, found.kept.pct, found.kept.low)
    longer = 0.0 if found.longer is None else log1p(found.longer / 100)
    if longer > max(FRESH_SELDOM * log_of(claimed.pct), LEAST_FRESH_SELDOM) + ROUNDING:
        average = percent(log_of(claimed.pct) - longer)
        return GainNotHeld("average", claimed.pct, average, average)
    if _alone_tells(found, claimed) and not _holds(found.alone, steady, ALONE_SHARE):
        return GainNotHeld("alone", claimed.pct, found.alone.pct, found.alone.high)
    if found.driver is not None and not _holds(found.driver, steady, ALONE_SHARE):
        return GainNotHeld("driver", claimed.pct, found.driver.pct, found.driver.high)
    clocked = found.clocked
    if clocked is not None and not _holds(clocked, steady, ALONE_SHARE * found.cold):
        return GainNotHeld("clocked", claimed.pct, clocked.pct, clocked.high)
    return None


def _missing_on_fresh(found: AuditSummary, steady: Gain) -> AuditedGain | None:
    """Return the gain on fresh inputs that is too small: in a row, if that was asked for; else one by one."""
    if _holds(found.fresh, steady, FRESH_SHARE * found.cold):
        return None
    if found.rows is None or not _holds(found.fresh, steady, SINGLE_SHARE * found.cold):
        return found.fresh
    return None if _holds(found.rows, steady, FRESH_SHARE * found.cold) else found.rows


def _seems_missing(found: AuditSummary, claimed: Gain) -> GainNotHeld | None:
    """Return in which audit that would be so if the audits' estimates were sure.

    What a callable keeps its contest tells, and more audits do not.
    """
    gains = ("fresh", "alone", "driver", "clocked", "rows", *(() if found.apart else ("kept",)))
    sure = {name: _sure(gain) for name in gains if (gain := getattr(found, name)) is not None}
    return _missing(structs.replace(found, **sure), claimed)


def _sure(found: AuditedGain) -> AuditedGain:
    return structs.replace(found, low=found.pct, high=found.pct)


def _at_least(found: AuditedGain) -> AuditedGain:
    return structs.replace(found, pct=found.low, high=found.low)


def joined(found: AuditSamples, more: AuditSamples) -> AuditSamples:
    """Return the samples of two audits of one candidate. Batches of a case that differ in length are not joined."""
    cases = {
        name: joined_cases(case, more.fresh[name]) if case.reps == more.fresh[name].reps else case
        for name, case in found.fresh.items()
    }
    seconds = found.fresh_s + more.fresh_s, found.alone_s + more.alone_s
    return AuditSamples(cases, (*found.alone, *more.alone), *seconds, found.times + more.times)


def _keeps(found: AuditSummary, kept: AuditedGain, claimed: Gain) -> bool:
    """Return whether much of the gain is there only while inputs hardly change, and so is missing on fresh ones."""
    if log_of(found.fresh.pct) >= log_of(claimed.low):
        return False
    sure, most = (max(share * log_of(claimed.low), LEAST_KEPT) for share in (SURELY_KEPT, MOST_KEPT))
    return log_of(kept.low) > (most if _separate(found) else sure) and log_of(kept.pct) > most


def _kept_beside(kept_pct: float, claimed: Gain) -> bool:
    return log_of(kept_pct) > max(KEPT_BESIDE * log_of(claimed.low), LEAST_KEPT)


def _steadied(claimed: Gain, most_pct: float | None) -> Gain:
    """Return the gain with no more error than that."""
    if most_pct is None:
        return claimed
    return replace(claimed, low=max(claimed.low, percent(log_of(claimed.pct) - log_of(most_pct))))


def _holds(found: AuditedGain, claimed: Gain, share: float) -> bool:
    """Return whether that share of the contest's gain may be there: both have errors, and their difference has one."""
    missing = share * log_of(claimed.pct) - log_of(found.pct)
    errors = share * (log_of(claimed.pct) - log_of(claimed.low)), log_of(found.high) - log_of(found.pct)
    return missing <= hypot(*errors) + ROUNDING
