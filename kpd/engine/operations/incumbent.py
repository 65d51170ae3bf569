"""Implements operations that set the incumbent: accept, roll back, undo."""

import time
from dataclasses import replace

from kpd.engine import edits
from kpd.engine.engine import Engine
from kpd.engine.record import changed_files
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.detail import detail
from kpd.model.iteration import Iteration, Override
from kpd.model.run import Run
from kpd.operations.iterations import AcceptIteration, AdoptIteration, RollBack, UndoDecision, is_outdated, was_accepted
from kpd.operations.operation import Refused, RunIteration
from kpd.text.endings import override as told
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.run_files import IterationFolder


def accept(engine: Engine, op: AcceptIteration, target: RunIteration, by: str) -> dict[str, bool]:
    """Make an iteration that was built, checked and timed the incumbent, marked as the operator's decision.

    A winner that was held is measured once more first if the incumbent has changed since.
    """
    run, it = target
    if is_outdated(target):
        if not _measurable(engine, run):
            raise Refused(f"the host {run.host} does not answer, and {target.ref} has to be measured", "kpd hosts")
        engine.journal.emit(e.Approved(run.id, it.number, by))
        engine.journal.emit(e.AgainAsked(run.id, it.number, by=by))
        engine.wake()
        return {"again": True}
    files = _writable(engine, run, it, force=False)
    override = Override(by, op.reason.strip())
    engine.journal.emit(e.Accepted(run.id, it.number, edits.hashes(files), override))
    edits.show_incumbent(engine.workspace, engine.journal, run.id, files)
    if it.outcome == "held" and it.cause is not None:  # nothing was remembered of it before
        device = engine.pool.device_of(run)
        held = replace(it, override=override)
        parent, own = (detail(engine.journal.events(run.id, number)) for number in (it.parent, it.number))
        names, arch = changed_files(parent, own), device.arch if device else ""
        memory.append(engine.workspace, run, held, "accepted", it.cause, arch=arch, files=names)
    _remember(engine, run, it, told(override))
    return {"again": False}


def rollback(engine: Engine, op: RollBack, target: RunIteration, by: str) -> None:
    """Make an accepted iteration (or the baseline) the incumbent again. The log only grows; nothing is erased.

    Rolling back to the incumbent itself writes it into the task folder once more.
    """
    _go_back(engine, target.run, target.it, op.force, by)


def adopt(engine: Engine, op: AdoptIteration, target: RunIteration, by: str) -> None:
    """Write an iteration's files into the task folder, unless it has files there that no run knows.

    Raises Refused, TaskError, OSError.
    """
    run, it = target
    snapshot = edits.snapshot_of(engine.workspace, run)
    files = IterationFolder(engine.workspace.iteration_folder(run.task, run.id, it.number)).read_candidate()
    live = engine.workspace.tasks / run.task
    now = read_tree(live, snapshot)
    runs = (one for one in engine.journal.state.runs.values() if one.task == run.task)
    if edits.hashes(now) not in [known for one in runs for known in (one.folder, one.files)]:
        if not op.force:
            remedy = f"kpd adopt {target.ref} --force keeps a copy of them in the run folder and goes on"
            raise Refused(f"{live} has files that no run knows", remedy)
        edits.keep_edit(engine.workspace, run, now)
    edits.write(live, files, snapshot, now)
    engine.journal.emit(e.Adopted(run.id, it.number, edits.hashes(files), by))


def undo(engine: Engine, op: UndoDecision, target: Run, by: str) -> dict[str, int]:
    """Restore the incumbent from before a person last accepted or rolled back; a second undo reverts the first."""
    before = target.iteration(target.before) if target.before is not None else None
    assert before is not None, "why_not has seen to that"
    _go_back(engine, target, before, False, by, undo=True)
    return {"iteration": before.number}


def _go_back(engine: Engine, run: Run, it: Iteration, force: bool, by: str, undo: bool = False) -> None:
    files = _writable(engine, run, it, force)
    engine.journal.emit(e.RolledBack(run.id, it.number, edits.hashes(files), by, undo))
    edits.show_incumbent(engine.workspace, engine.journal, run.id, files)
    _remember(engine, run, it, f"{'undone ' if undo else ''}by {by}")
    if it.outcome != "baseline" and _measurable(engine, run):
        engine.journal.emit(e.AgainAsked(run.id, it.number, by=by, confirming="decision"))
    engine.wake()


def _measurable(engine: Engine, run: Run) -> bool:
    """Return whether an iteration of the run can be measured anew: the run goes on, or its host is there."""
    card = engine.journal.state.hosts.get(run.host)
    return run.begun or run.reopened is not None or (run.over and card is not None and card.link != "down")


def _remember(engine: Engine, run: Run, it: Iteration, reason: str) -> None:
    """Record a person's decision in the task's memory. `run` is as it was before. Raises OSError."""
    device = engine.pool.device_of(run)
    memory.overruled(engine.workspace, run, it, reason, time.time(), device.arch if device else "")


def _writable(engine: Engine, run: Run, it: Iteration, force: bool) -> dict[str, bytes]:
    """Return the iteration's files, if they may be written where the run is shown.

    Raises Refused, TaskError, OSError.
    """
    snapshot = edits.snapshot_of(engine.workspace, run)
    candidate = IterationFolder(engine.workspace.iteration_folder(run.task, run.id, it.number))
    files, live = candidate.read_candidate(), engine.workspace.tasks / run.task
    if not run.shown:
        return files
    if force:
        now = read_tree(live, snapshot)
        edits.keep_edit(engine.workspace, run, now)
        engine.journal.emit(e.FolderKnown(run.id, edits.hashes(now)))
        return files
    try:
        edits.refuse_to_lose(live, files, snapshot, run)
    except edits.EditConflict as err:
        theirs, ours = live / err.paths[0], candidate.candidate / err.paths[0]
        forced = f"kpd rollback {run.id}.{it.number} --force keeps a copy of your version in the run folder and goes on"
        remedy = f"compare {theirs} with {ours}" + (f"; {forced}" if was_accepted(it) else "")
        raise Refused(str(err), remedy) from err
    return files
