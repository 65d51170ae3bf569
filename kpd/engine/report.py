"""The run folder for people: run.json, report.md and the incumbent's files in best/."""

from kpd.model.codec import encode
from kpd.model.nouns import Iteration, Run
from kpd.model.scores import Direction, speedup
from kpd.text.endings import of_run
from kpd.workspace.paths import Workspace
from kpd.workspace.runfolder import write_atomic


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
    lines = [f"# {run.task} · {run.id}", "", f"{(run.outcome or run.status).replace('_', ' ')}: {of_run(run)}", ""]
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
    return f"| {it.number} | {it.override or it.outcome or 'under way'} | {interval} | {score} | {memo} |"
