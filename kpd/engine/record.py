"""The step of recording: what became of a candidate is made to last, and told in the run folder for people."""

from kpd.engine import edits
from kpd.engine.attempt import Attempt
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.causes import AgainstItself, ByVerdict, IterationCause, Noise, Superseded
from kpd.model.codec import encode
from kpd.model.detail import Detail
from kpd.model.faults import outcome_of
from kpd.model.nouns import Iteration, Outcome, Run
from kpd.model.scores import Direction, speedup
from kpd.model.status import Ended
from kpd.text.endings import of_run, override
from kpd.workspace.paths import Workspace
from kpd.workspace.runfolder import write_atomic


async def record(at: Attempt, found: Detail) -> e.IterationEnded:
    """Write the incumbent, the task folder and the memory. Safe to repeat."""
    found = at.detail_of(at.number)
    outcome, cause = _outcome(at, found) if at.fault is None else (outcome_of(at.fault.what), at.fault.what)
    if outcome in ("baseline", "accepted") and found.accepted is None:
        at.journal.emit(e.Accepted(at.run_id, at.number, edits.hashes(at.candidate())))
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


def write_report(workspace: Workspace, run: Run, direction: Direction) -> None:
    """Write the run as it stands now; `direction` is that of its scores. Raises OSError."""
    folder = workspace.run_folder(run.task, run.id)
    write_atomic(folder / "run.json", encode(run))
    write_atomic(folder / "report.md", report(run, direction))
    if run.incumbent is not None:
        for path in run.files:
            candidate = workspace.iteration_folder(run.task, run.id, run.incumbent) / "candidate" / path
            write_atomic(folder / "best" / path, candidate.read_bytes())


def report(run: Run, direction: Direction) -> str:
    """The run in Markdown: how it ended, and a row an iteration."""
    best, baseline = run.best, run.baseline
    word = run.status.outcome if isinstance(run.status, Ended) else run.status.name
    lines = [f"# {run.task} · {run.id}", "", f"{word.replace('_', ' ')}: {of_run(run)}", ""]
    if run.device:
        lines += [f"Measured on {run.device} of host {run.host}.", ""]
    factor = None if best is None or baseline is None else speedup(baseline.score, best.score, direction)
    if best is not None and factor is not None:
        lines += [f"Best: iteration {best.number}, {best.score:.4g}, {factor:.2f} times the baseline's speed.", ""]
        lines += [f"Its bottleneck: {best.bottleneck}", ""] if best.bottleneck else []
        lines += [f"Rules that fire on it: {', '.join(best.rules)}", ""] if best.rules else []
    lines += ["| iteration | outcome | gain | score | memo |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_row, run.iterations)]) + "\n"


def _row(it: Iteration) -> str:
    gain = it.verdict.gain if it.verdict else None
    interval = f"{gain.pct:+.1f} % [{gain.low:+.1f}, {gain.high:+.1f}]" if gain else ""
    score = f"{it.score:.4g}" if it.score is not None else ""
    memo = " ".join(it.memo.split()).replace("|", "\\|")
    outcome = override(it.override) if it.override else it.outcome or "under way"
    return f"| {it.number} | {outcome} | {interval} | {score} | {memo} |"
