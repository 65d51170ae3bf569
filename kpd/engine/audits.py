"""Decides what must hold of a candidate after its verdict says "accepted", and before it is accepted.

`HOLDS` is the list, in order. Each entry takes the candidate and the verdict so far; it raises CandidateFailed, or
returns the verdict, which it may have changed. An ordinary loser comes to none of them. The contest of the incumbent
against the baseline at a run's end does not either: it accepts nobody, and each gain on the way to it was audited. The
baseline has no gain to audit, but what the task itself asks for holds for it, too. Where the first right candidate is
the baseline, what needs no other kernel holds for it as for any winner.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from kpd.engine.attempt import Attempt, CandidateFailed
from kpd.measure import audit_time, audits, bench, clocks
from kpd.measure.audits import MOST_AUDITS, AuditSamples
from kpd.measure.bench import BuiltObject
from kpd.measure.judge import FINAL, held_out
from kpd.measure.samples import ProcessSample
from kpd.measure.seeds import numbers_of
from kpd.model.audits import AuditSummary
from kpd.model.faults import Incorrect, IncorrectHeldOut, IncorrectTimed
from kpd.model.verdicts import Verdict

AUDIT = "audit.json"
REPEATS = "repeats.json"


@dataclass(slots=True)
class Winner:
    """A candidate that would be accepted, or the baseline: its samples, its object, and the incumbent's.

    `audited` is set by the audits of its gain, `repeats` by the calls on inputs that do not change, and on new ones,
    `first` by an audit that was taken beside these. Its contest has ended when it is `made`.
    """

    attempt: Attempt
    samples: tuple[ProcessSample, ...]
    candidate: BuiltObject
    incumbent: BuiltObject
    audited: AuditSummary | None = None
    repeats: int = 0
    first: AuditSamples | None = None
    made: float = field(default_factory=time.monotonic)

    @property
    def passed_s(self) -> float:
        return time.monotonic() - self.made


def wanted(attempt: Attempt, verdict: Callable[[], Verdict]) -> bool:
    """Return whether anything must hold: of what may become the incumbent; of the task's own files, held-out cases."""
    if attempt.iteration.confirming:
        return False
    if attempt.is_tasks_own:
        return attempt.task.final.command is not None
    return attempt.is_baseline or verdict().accepted


def against_incumbent(attempt: Attempt, verdict: Verdict) -> bool:
    """Return whether a candidate's gain is to be audited."""
    new = not (attempt.is_baseline or attempt.is_tasks_own or attempt.iteration.confirming or attempt.in_place)
    return new and verdict.accepted


async def all_hold(winner: Winner, verdict: Verdict) -> Verdict:
    """Take the list in order. Raises CandidateFailed and HostError."""
    for holds in HOLDS:
        verdict = await holds(winner, verdict)
    return verdict


async def _clock(winner: Winner, verdict: Verdict) -> Verdict:
    """Compare the samples with the driver's own clock. It costs nothing."""
    if not winner.attempt.is_tasks_own and (forged := clocks.refuse_clock(winner.samples)):
        raise CandidateFailed(forged, final=True)
    return verdict


async def _contest(winner: Winner, verdict: Verdict) -> Verdict:
    """Look at all samples of the contest: its gain is that of most calls, on inputs that hardly change. It is free."""
    attempt = winner.attempt
    if attempt.is_baseline or attempt.is_tasks_own or attempt.in_place:
        return verdict
    if refused := audits.refuse_contest(winner.samples, verdict):
        raise CandidateFailed(refused, final=True)
    return verdict


async def _repeats(winner: Winner, verdict: Verdict) -> Verdict:
    """Call the candidate again and again on inputs that do not change. The first audit may be taken beside that."""
    attempt = winner.attempt
    if attempt.is_tasks_own:
        return verdict
    if attempt.is_baseline or not attempt.bench.repeats_beside:
        await _repeated(winner)
    else:
        winner.first = await _beside_repeats(winner, audits.at_first(verdict.gain))
    return verdict


async def _beside_repeats(winner: Winner, times: int) -> AuditSamples | None:
    """Take the first audits, and the repeats once no calls on fresh inputs are timed: nothing may slow down one side.

    As long as these take, each kernel is timed alone as often. What is wrong in repeats is told first, and ends the
    audits' job.
    """
    attempt = winner.attempt
    timed = asyncio.Event()
    audit = asyncio.create_task(_audited(winner, "", times, times, timed.set))
    audit.add_done_callback(lambda ended: timed.set())
    try:
        await timed.wait()
        await _repeated(winner)
    except BaseException as err:
        audit.cancel()
        await asyncio.gather(audit, return_exceptions=True)
        if not isinstance(err, asyncio.CancelledError):
            await attempt.bench.forget(attempt.job("audit"))
        raise
    return await audit


async def _repeated(winner: Winner) -> None:
    """Call it so. On a GPU the first audit begins in the same job."""
    attempt = winner.attempt
    incumbent = None if attempt.is_baseline else winner.incumbent.job
    try:
        with numbers_of("audit"):
            calls = await attempt.bench.repeat(
                winner.candidate.job, attempt.job("repeats"), attempt.say("job"), incumbent
            )
    except bench.CheckFailed as err:
        raise CandidateFailed(Incorrect(err.wrong)) from err
    if calls is not None:
        winner.repeats = sum(calls.values())
        attempt.keep(REPEATS, calls)


async def _audited(
    winner: Winner, again: str, times: int, alone: int = 1, fresh: bench.Fresh | None = None, rows: bool = False
) -> AuditSamples | None:
    """Measure for so many audits; `again` tells the jobs of some that are more, which draw other numbers."""
    attempt, built = winner.attempt, (winner.incumbent.job, winner.candidate.job)
    try:
        with numbers_of(f"audit{again}"):
            job = attempt.job(f"audit{again}")
            return await attempt.bench.audit(*built, job, attempt.say("job"), alone, fresh, times, rows)
    except bench.CheckFailed as err:
        raise CandidateFailed(IncorrectTimed(err.wrong), final=True) from err


async def _gain(winner: Winner, verdict: Verdict) -> Verdict:
    """Look for the gain on fresh inputs, and between processes that time one kernel only."""
    attempt = winner.attempt
    if attempt.is_baseline:
        return verdict
    found = winner.first or await _audited(winner, "", audits.at_first(verdict.gain))
    if found is None:
        return verdict
    winner.audited = audits.summary(found, winner.samples)
    late = False
    for number in range(2, MOST_AUDITS + 1):
        if attempt.in_place or not audits.wants_more(winner.audited, verdict.gain):
            break
        job = audit_time.next_job(found, winner.audited, verdict.gain, winner.passed_s)
        late = late or job.late
        if not job.times:
            break
        rows = audits.wants_rows(winner.audited, verdict.gain)
        if (more := await _audited(winner, f"-{number}", job.times, job.alone, rows=rows)) is not None:
            found = audits.joined(found, more)
            winner.audited = audits.summary(found, winner.samples)
    found = replace(found, whole_s=round(winner.passed_s, 3))
    winner.audited = audits.summary(found, winner.samples)
    attempt.keep(AUDIT, {"summary": winner.audited, "samples": found})
    refused = audits.refuse_gain(winner.audited, verdict.gain)
    if refused is None and late:
        refused = audit_time.cut_short(winner.audited, verdict.gain)
    if refused and not attempt.in_place:
        raise CandidateFailed(refused, final=True)
    return verdict


async def _held_out(winner: Winner, verdict: Verdict) -> Verdict:
    """Add the result on the cases that the task holds out, if it holds out any."""
    attempt = winner.attempt
    incumbent = None if attempt.is_baseline else winner.incumbent.job
    try:
        final = await attempt.bench.final(incumbent, winner.candidate.job, attempt.job("final"), attempt.say("job"))
    except bench.CheckFailed as err:
        raise CandidateFailed(IncorrectHeldOut(err.wrong)) from err
    if final is None:
        return verdict
    attempt.keep(FINAL, final)
    return held_out(verdict, final, attempt.run.budget.min_gain_pct)


HOLDS: tuple[Callable[[Winner, Verdict], Awaitable[Verdict]], ...] = (
    _clock,
    _contest,
    _repeats,
    _gain,
    _held_out,
)
