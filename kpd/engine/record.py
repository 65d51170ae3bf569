"""The step of recording: what became of a candidate is made to last."""

from kpd.engine import edits, taskfolder
from kpd.engine.attempt import Attempt
from kpd.engine.report import write_report
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.causes import AgainstItself, ByVerdict, IterationCause, Noise, Superseded
from kpd.model.detail import Detail
from kpd.model.faults import outcome_of
from kpd.model.nouns import Outcome


async def record(at: Attempt, found: Detail) -> e.IterationEnded:
    """Write the incumbent, the task folder and the memory. Safe to repeat."""
    found = at.detail_of(at.number)
    outcome, cause = _outcome(at, found) if at.fault is None else (outcome_of(at.fault.what), at.fault.what)
    if outcome in ("baseline", "accepted") and found.accepted is None:
        at.journal.emit(e.Accepted(at.run_id, at.number, taskfolder.hashes(at.candidate())))
    if at.run.incumbent == at.number:
        edits.show(at.workspace, at.journal, at.run_id, at.candidate())
    if outcome != "baseline":
        before = at.detail_of(at.parent).profiled
        memory.append(
            at.workspace, at.run, at.iteration, outcome, cause,
            before.metrics if before else {}, found.profiled.metrics if found.profiled else {}, at.bench.device.arch,
        )  # fmt: skip
    write_report(at.workspace, at.run, at.task.bench.direction)
    return e.IterationEnded(at.run_id, at.number, outcome, cause)


def _outcome(at: Attempt, found: Detail) -> tuple[Outcome, IterationCause]:
    """What the verdict means now: the incumbent may have changed since it was judged."""
    assert found.judged is not None
    verdict = found.judged.verdict
    if at.is_baseline:
        return "baseline", Noise(verdict.gain)
    if at.iteration.again is not None and at.candidate() == at.files_of(at.parent):
        return "rejected", AgainstItself(verdict)
    now = at.run.incumbent
    if verdict.accepted and found.accepted is None and now is not None and now != at.parent:
        return "rejected", Superseded(verdict, at.run_id, now)
    return "accepted" if verdict.accepted else "rejected", ByVerdict(verdict)
