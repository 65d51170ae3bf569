"""Judges what must hold of a gain before its candidate is accepted: pure, from the audits' own samples.

A gain is believed where it is there on inputs that are new in every call, and where each kernel is timed in processes
without the other one; both as a logarithm of the time, and as far as the errors of audit and contest tell. The audits
find gains that come from elsewhere, and decide none: they are far shorter than a contest, and their caches are in
another state. So a candidate is refused only beyond doubt, and what that state costs the incumbent may cost the
candidate, too. Calls that differ from those on new inputs in nothing but the contents need no such allowance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, log

from msgspec import structs

from kpd.measure.audit_gains import (
    FreshCase,
    alone_gain,
    by_driver,
    case_weights,
    clocked_gain,
    cold_share,
    fresh_gain,
    kept_gain,
    steady_error,
)
from kpd.measure.judge import percent
from kpd.measure.samples import ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.faults import GainNotHeld
from kpd.model.verdicts import Gain

FRESH_SHARE = 0.8
"""The share of the contest's gain that must be possible on fresh inputs."""
ALONE_SHARE = 0.5
"""The share that must be possible alone: in few processes, any of which other work may have disturbed."""
MOST_KEPT = 0.1
"""The share of the contest's gain that may be there only while inputs hardly change, and …"""
KEPT_BESIDE = 0.5
"""The share from which that is refused even where the contest had nothing of it."""
LEAST_KEPT = 0.03
"""… the logarithm of time that may be in any case: contents are easier to predict when they have been seen before."""
MOST_AUDITS = 3
"""How often the audits are taken while the gain seems not to be there; only so many refuse it."""
ROUNDING = 1e-12
"""What logarithms of percent may be wrong by: a gain that is just there is not refused for it."""


@dataclass(frozen=True, slots=True)
class AuditSamples:
    """What the audits of one candidate measured: `audit.json`. In `alone`, processes of even numbers timed A only.

    They were taken `times`; each time all fresh inputs were of one process.
    """

    fresh: dict[str, FreshCase]
    alone: tuple[ProcessSample, ...]
    fresh_s: float
    alone_s: float
    times: int = 1


def summary(audit: AuditSamples, contest: Sequence[ProcessSample]) -> AuditSummary:
    """Return what is told of the audits: gains, coverage and seconds."""
    cases = audit.fresh.values()
    last = audit.times >= MOST_AUDITS
    clocked = all(case.clock and case.clock.spent_ns for sample in audit.alone for case in sample.cases.values())
    return AuditSummary(
        fresh_gain(audit.fresh, contest, audit.times, last),
        alone_gain(audit.alone, contest, last),
        sum(case.reps * len(case.a_ns) for case in cases),
        sum(case.compared for case in cases),
        audit.fresh_s + audit.alone_s,
        sum(sample.compared is False for sample in (*contest, *audit.alone)),
        sum(sample.compared is not None for sample in (*contest, *audit.alone)),
        kept_gain(audit.fresh, case_weights(contest)),
        cold_share(audit.fresh, contest),
        alone_gain(audit.alone, contest, last, by_driver) if clocked else None,
        clocked_gain(audit.fresh, contest, audit.times, last),
        percent(steady_error(contest)) if last else None,
    )


def refuse_gain(found: AuditSummary, claimed: Gain) -> GainNotHeld | None:
    """Return the fault of a candidate whose gain is not there in an audit; None where both agree with the contest."""
    steady = _steadied(claimed, found.steady)
    if not _holds(found.fresh, steady, FRESH_SHARE * found.cold):
        return GainNotHeld("fresh", claimed.pct, found.fresh.pct, found.fresh.high)
    if found.kept is not None and (_keeps(found, found.kept.low, claimed) or _kept_beside(found.kept.low, claimed)):
        return GainNotHeld("kept", claimed.low, found.kept.pct, found.kept.low)
    if not _holds(found.alone, steady, ALONE_SHARE):
        return GainNotHeld("alone", claimed.pct, found.alone.pct, found.alone.high)
    if found.driver is not None and not _holds(found.driver, steady, ALONE_SHARE):
        return GainNotHeld("driver", claimed.pct, found.driver.pct, found.driver.high)
    clocked = found.clocked
    if clocked is not None and not _holds(clocked, steady, ALONE_SHARE * found.cold):
        return GainNotHeld("clocked", claimed.pct, clocked.pct, clocked.high)
    return None


def seems_missing(found: AuditSummary, claimed: Gain) -> bool:
    """Return whether the gain would be refused if the audits' estimates were sure: then more audits are taken.

    On a busy machine an audit has few calls, and no interval from few calls is narrow. All its fresh inputs are of one
    process besides: what other work does to that, or where it lies in memory, is in every one of its calls.
    """
    gains = ("fresh", "alone", "kept", "driver", "clocked")
    sure = {name: _sure(gain) for name in gains if (gain := getattr(found, name)) is not None}
    return refuse_gain(structs.replace(found, **sure), claimed) is not None


def _sure(found: AuditedGain) -> AuditedGain:
    return structs.replace(found, low=found.pct, high=found.pct)


def joined(found: AuditSamples, more: AuditSamples) -> AuditSamples:
    """Return the samples of two audits of one candidate. Batches of a case that differ in length are not joined."""
    cases = {
        name: _joined(case, more.fresh[name]) if case.reps == more.fresh[name].reps else case
        for name, case in found.fresh.items()
    }
    seconds = found.fresh_s + more.fresh_s, found.alone_s + more.alone_s
    return AuditSamples(cases, (*found.alone, *more.alone), *seconds, found.times + more.times)


def _joined(one: FreshCase, other: FreshCase) -> FreshCase:
    return FreshCase(
        one.reps, one.compared + other.compared, one.anew and other.anew, one.a_ns + other.a_ns, one.b_ns + other.b_ns,
        one.swapped_a_ns + other.swapped_a_ns, one.swapped_b_ns + other.swapped_b_ns,
        (*(one.taken or (len(one.a_ns),)), *(other.taken or (len(other.a_ns),))),
        one.a_passed_ns + other.a_passed_ns, one.b_passed_ns + other.b_passed_ns,
    )  # fmt: skip


def _keeps(found: AuditSummary, kept_pct: float, claimed: Gain) -> bool:
    """Return whether much of the gain is there only while inputs hardly change, and so is missing on fresh ones."""
    is_missing = _ratio(found.fresh.pct) < _ratio(claimed.low)
    return is_missing and _ratio(kept_pct) > max(MOST_KEPT * _ratio(claimed.low), LEAST_KEPT)


def _kept_beside(kept_pct: float, claimed: Gain) -> bool:
    return _ratio(kept_pct) > max(KEPT_BESIDE * _ratio(claimed.low), LEAST_KEPT)


def _steadied(claimed: Gain, most_pct: float | None) -> Gain:
    """Return the gain with no more error than that."""
    if most_pct is None:
        return claimed
    return replace(claimed, low=max(claimed.low, percent(_ratio(claimed.pct) - _ratio(most_pct))))


def _holds(found: AuditedGain, claimed: Gain, share: float) -> bool:
    """Return whether that share of the contest's gain may be there: both have errors, and their difference has one."""
    missing = share * _ratio(claimed.pct) - _ratio(found.pct)
    errors = share * (_ratio(claimed.pct) - _ratio(claimed.low)), _ratio(found.high) - _ratio(found.pct)
    return missing <= hypot(*errors) + ROUNDING


def _ratio(pct: float) -> float:
    return -log(max(1 - pct / 100, 1e-9))
