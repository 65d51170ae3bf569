"""Which iteration is the incumbent, when a person decides: to accept, to roll back, to undo the last of these."""

import time

from kpd.engine import edits, taskfolder
from kpd.engine.engine import Engine
from kpd.engine.refused import Refused
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.nouns import Iteration, Run
from kpd.text.endings import of_iteration
from kpd.workspace.runfolder import IterationFolder


def accept(engine: Engine, run: Run, it: Iteration, reason: str, by: str) -> None:
    """The operator's override: what was built, checked and timed becomes the incumbent, marked as such."""
    name = f"{run.id}.{it.number}"
    if it.number == run.incumbent:
        raise Refused(f"{name} is the incumbent already")
    if it.outcome is None:
        raise Refused(f"{name} is still under way")
    if it.outcome in ("baseline", "accepted"):
        raise Refused(f"{name} was accepted before", f"kpd rollback {name}")
    if it.score is None:
        raise Refused(f"{name} was never timed: it did not build, or its results are wrong")
    if it.verdict is None:  # found wrong after it was timed: by the memcheck, or on the cases that the task holds out
        raise Refused(f"{name} has no verdict: {of_iteration(it)}", f"kpd remeasure {name}")
    files = _writable(engine, run, it, force=False)
    override = reason or f"accepted by {by} against the verdict"
    engine.journal.emit(e.Accepted(run.id, it.number, taskfolder.hashes(files), by, override))
    edits.show(engine.workspace, engine.journal, run.id, files)
    _remember(engine, run, it, override)


def rollback(engine: Engine, run: Run, it: Iteration, force: bool, by: str) -> None:
    """Make an accepted iteration (or the baseline) the incumbent again; appends, erases nothing.

    Rolling back to the incumbent itself writes it into the task folder once more. With `force` an edit that waits there
    is kept in the run folder instead of being measured.
    """
    name = f"{run.id}.{it.number}"
    if not _was_accepted(it):
        raise Refused(f"{name} was never accepted", "kpd log shows the accepted iterations")
    if it.number == run.incumbent and run.folder == run.files and not force:
        raise Refused(f"{name} is the incumbent already")
    _go_back(engine, run, it, force, by)


def undo(engine: Engine, run: Run, by: str) -> Iteration:
    """Make the incumbent what it was before a person last accepted or rolled back; once more undoes that in turn."""
    if run.before is None or (it := run.iteration(run.before)) is None:
        decided = "since then kpd has accepted something itself, or nobody has decided anything"
        raise Refused(f"there is nothing to undo in {run.id}: {decided}", "kpd rollback ITER goes back further")
    _go_back(engine, run, it, False, by, undo=True)
    return it


def _go_back(engine: Engine, run: Run, it: Iteration, force: bool, by: str, undo: bool = False) -> None:
    files = _writable(engine, run, it, force)
    engine.journal.emit(e.RolledBack(run.id, it.number, taskfolder.hashes(files), by, undo))
    edits.show(engine.workspace, engine.journal, run.id, files)
    _remember(engine, run, it, f"{'undone ' if undo else ''}by {by}")
    engine.wake()


def _remember(engine: Engine, run: Run, it: Iteration, reason: str) -> None:
    """What a person decided is part of what was learnt. `run` is as it was before. Raises OSError."""
    device = engine.fleet.device_of(run)
    memory.overruled(engine.workspace, run, it, reason, time.time(), device.arch if device else "")


def _writable(engine: Engine, run: Run, it: Iteration, force: bool) -> dict[str, bytes]:
    """The iteration's files, when the task folder may take them. Raises Refused, TaskError, OSError."""
    _no_other(engine, run)
    editable = edits.snapshot_of(engine.workspace, run).editable
    candidate = IterationFolder(engine.workspace.iteration_folder(run.task, run.id, it.number))
    files, live = candidate.read_candidate(editable), engine.workspace.tasks / run.task
    if force:
        now = taskfolder.present(live, editable)
        edits.keep(engine.workspace, run, now)
        engine.journal.emit(e.FolderKnown(run.id, taskfolder.hashes(now)))
        return files
    try:
        taskfolder.refuse_to_lose(live, files, run)
    except taskfolder.Conflict as err:
        theirs, ours = live / editable[0], candidate.candidate / editable[0]
        forced = f"kpd rollback {run.id}.{it.number} --force keeps a copy of your version in the run folder and goes on"
        remedy = f"compare {theirs} with {ours}" + (f"; {forced}" if _was_accepted(it) else "")
        raise Refused(str(err), remedy) from err
    return files


def _was_accepted(it: Iteration) -> bool:
    return it.outcome in ("accepted", "baseline") or bool(it.override)


def _no_other(engine: Engine, run: Run) -> None:
    """Raises Refused while another run works on the same task folder."""
    other = next((r for r in engine.journal.state.runs.values() if edits.is_open(r) and r.task == run.task), run)
    if other.id != run.id:
        raise Refused(f"{other.id} works on {run.task} now", f"stop {other.id}, or roll that run back")
