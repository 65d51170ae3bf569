"""Implements the step `record`: saves the result of a candidate and updates the run folder for people."""

from kpd.engine import edits
from kpd.engine.attempt import Attempt
from kpd.engine.confirm import confirm
from kpd.engine.held import doubted
from kpd.knowledge import memory
from kpd.knowledge.entries import changes
from kpd.model import events as e
from kpd.model.causes import AgainstItself, ByVerdict, Flagged, IterationCause, Noise, Superseded
from kpd.model.codec import encode
from kpd.model.detail import Detail
from kpd.model.faults import outcome_of
from kpd.model.headline import headline
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import Ended, Outcome
from kpd.profile.paired import incumbent_metrics
from kpd.text.devices import formerly
from kpd.text.endings import of_run, override
from kpd.text.gains import gain
from kpd.text.headlines import base, headline as told_headline, unconfirmed
from kpd.text.verdicts import UNCHECKED
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder, write_atomic, write_tree


async def record(attempt: Attempt, found: Detail) -> e.IterationEnded:
    """Write the incumbent, the task folder, the memory and the report. It is safe to repeat."""
    found = attempt.detail_of(attempt.number)
    outcome, cause = (
        _outcome(attempt, found) if attempt.fault is None else (outcome_of(attempt.fault.what), attempt.fault.what)
    )
    if attempt.iteration.confirming and not attempt.iteration.measures_floor:
        confirm(attempt, found)
    if attempt.iteration.confirming or outcome == "held":  # nothing is learned from a held one unless it is accepted
        write_report(attempt.workspace, attempt.run)
        return e.IterationEnded(attempt.run_id, attempt.number, outcome, cause)
    if outcome in ("baseline", "accepted") and found.accepted is None:
        attempt.journal.emit(e.Accepted(attempt.run_id, attempt.number, edits.hashes(attempt.candidate())))
    if attempt.run.incumbent == attempt.number:
        edits.show_incumbent(attempt.workspace, attempt.journal, attempt.run_id, attempt.candidate())
    if outcome != "baseline":
        memory.append(
            attempt.workspace,
            attempt.run,
            attempt.iteration,
            outcome,
            cause,
            incumbent_metrics(found, attempt.detail_of(attempt.parent)),
            found.profiled.metrics if found.profiled else {},
            attempt.bench.device.arch,
            changed_files(attempt.detail_of(attempt.parent), found),
        )
    write_report(attempt.workspace, attempt.run)
    return e.IterationEnded(attempt.run_id, attempt.number, outcome, cause)


def changed_files(parent: Detail, own: Detail) -> tuple[str, ...]:
    """Name the files in which an iteration's candidate differs from that of its parent; none without a candidate."""
    return changes(parent.proposed.files, own.proposed.files) if parent.proposed and own.proposed else ()


def _outcome(attempt: Attempt, found: Detail) -> tuple[Outcome, IterationCause]:
    """Decide what the verdict means now: the incumbent may have changed since the candidate was judged."""
    assert found.judged is not None
    verdict = found.judged.verdict
    now = attempt.superseded_by if found.judged.superseded_by is None else found.judged.superseded_by
    if attempt.is_baseline:
        if found.accepted is None and now is not None:  # a person accepted another one
            return "rejected", Superseded(verdict, attempt.run_id, now)
        if found.accepted is None and (flags := doubted(attempt)):
            return _doubted_as(attempt), Flagged(verdict, flags)
        return "baseline", Noise(verdict.gain)
    if attempt.iteration.confirming:
        return "measured", Noise(verdict.gain) if attempt.iteration.measures_floor else ByVerdict(verdict)
    if attempt.iteration.again is not None and attempt.candidate() == attempt.files_of(attempt.parent):
        return "rejected", AgainstItself(verdict)
    if verdict.accepted and found.accepted is None and now is not None:
        return "rejected", Superseded(verdict, attempt.run_id, now)
    if verdict.accepted and found.accepted is None and (flags := doubted(attempt)):
        return _doubted_as(attempt), Flagged(verdict, flags)
    return "accepted" if verdict.accepted else "rejected", ByVerdict(verdict)


def _doubted_as(attempt: Attempt) -> Outcome:
    """Return what a winner with flags becomes, as the task says."""
    return "rejected" if attempt.task.check.flagged == "reject" else "held"


def write_report(workspace: Workspace, run: Run) -> None:
    """Write the run's report files as it stands now. Raises OSError."""
    folder = workspace.run_folder(run.task, run.id)
    write_atomic(folder / "run.json", encode(run))
    write_atomic(folder / "report.md", report(run))
    if run.incumbent is not None:
        incumbent = IterationFolder(workspace.iteration_folder(run.task, run.id, run.incumbent))
        write_tree(folder / "best", incumbent.read_candidate())


def report(run: Run) -> str:
    """Render the run in Markdown: how it ended, and a row per iteration."""
    best = run.best
    word = run.status.outcome if isinstance(run.status, Ended) else run.status.name
    lines = [f"# {run.task} · {run.id}", "", f"{word.replace('_', ' ')}: {of_run(run)}", ""]
    if run.device:
        lines += [f"Measured on {run.device} of host {run.host}.", ""]
    lines += [f"Before, {said}.\n" for said in formerly(run)]
    lines += [f"**{UNCHECKED}**", ""] if run.unchecked else []
    if best is not None and (won := headline(run)) is not None:
        lines += [f"Best: iteration {best.number}, {told_headline(won, based=True)}, {base(won)}.", ""]
        lines += [f"It could not be measured against the baseline: {unconfirmed(won)}", ""] if won.cause else []
        lines += [f"Its bottleneck: {best.bottleneck}", ""] if best.bottleneck else []
        lines += [f"Rules that fire on it: {', '.join(best.rules)}", ""] if best.rules else []
    lines += [
        "| iteration | outcome | against its incumbent | score as measured then | memo |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_row, run.iterations)]) + "\n"


def _row(it: Iteration) -> str:
    interval = gain(it.verdict.gain) if it.verdict else ""
    score = f"{it.score:.4g}" if it.score is not None else ""
    memo = " ".join(it.memo.split()).replace("|", "\\|")
    outcome = override(it.override) if it.override else it.outcome or "under way"
    return f"| {it.number} | {outcome} | {interval} | {score} | {memo} |"
