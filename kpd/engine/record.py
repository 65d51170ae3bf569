"""The step of recording: what became of a candidate is made to last."""

from kpd.engine import edits, taskfolder
from kpd.engine.attempt import Attempt
from kpd.engine.report import write_report
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.nouns import Outcome


async def record(at: Attempt, found: Detail) -> e.IterationEnded:
    """Write the incumbent, the task folder and the memory. Safe to repeat."""
    found = at.detail_of(at.number)
    outcome, reason = _outcome(at, found) if at.fault is None else (at.fault.outcome, str(at.fault))
    if outcome in ("baseline", "accepted") and found.accepted is None:
        at.journal.emit(e.Accepted(at.run_id, at.number, taskfolder.hashes(at.candidate())))
    if at.run.incumbent == at.number:
        edits.show(at.workspace, at.journal, at.run_id, at.candidate())
    if outcome != "baseline":
        before = at.detail_of(at.parent).profiled
        memory.append(
            at.workspace, at.run, at.iteration, outcome, reason,
            before.metrics if before else {}, found.profiled.metrics if found.profiled else {}, at.bench.device.arch,
        )  # fmt: skip
    write_report(at.workspace, at.run, at.task.bench.direction)
    return e.IterationEnded(at.run_id, at.number, outcome, reason)


def _outcome(at: Attempt, found: Detail) -> tuple[Outcome, str]:
    """What the verdict means now: the incumbent may have changed since it was judged."""
    assert found.judged is not None
    verdict = found.judged.verdict
    if at.is_baseline:
        return "baseline", f"against itself: {verdict.gain.low:+.2f} … {verdict.gain.high:+.2f} %"
    if at.iteration.again is not None and at.candidate() == at.files_of(at.parent):
        return "rejected", f"the incumbent against itself: {verdict.reason}"
    if verdict.accepted and found.accepted is None and at.run.incumbent != at.parent:
        return "rejected", f"{verdict.reason}, but {at.run_id}.{at.run.incumbent} became the incumbent meanwhile"
    return "accepted" if verdict.accepted else "rejected", verdict.reason
