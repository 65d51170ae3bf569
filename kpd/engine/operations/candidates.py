"""Implements operations on candidates: review, measure again, memo, edit."""

from kpd.engine import edits
from kpd.engine.engine import Engine
from kpd.engine.journal import run_of
from kpd.engine.waiting import set_waiting
from kpd.measure.screen import protected_touched
from kpd.model import events as e
from kpd.model.lanes import lane_of
from kpd.model.run import Run
from kpd.operations.iterations import EditKernel, MeasureAgain, WriteMemo
from kpd.operations.operation import Refused, RunIteration
from kpd.operations.reviews import ApproveCandidate, DeclineCandidate, SetReview
from kpd.text.endings import of_iteration
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.editable import LONGEST_PATH, clash, is_plain
from kpd.workspace.run_files import IterationFolder


def review(engine: Engine, op: SetReview, target: Run, by: str) -> dict[str, bool]:
    """Set whether the run's candidates wait for a person's approval; if not, a candidate that waits is approved."""
    for it in target.open if not op.on else ():
        if it.review == "waits":
            engine.journal.emit(e.Approved(target.id, it.number, by))
            _decided(engine, RunIteration(target, it))
    if target.approve != op.on:
        engine.journal.emit(e.ReviewSet(target.id, op.on, by))
    return {"on": op.on}


def approve(engine: Engine, op: ApproveCandidate, target: RunIteration, by: str) -> None:
    engine.journal.emit(e.Approved(target.run.id, target.it.number, by))
    _decided(engine, target)


def decline(engine: Engine, op: DeclineCandidate, target: RunIteration, by: str) -> None:
    """Reject the candidate; agents read the reason when they next propose."""
    engine.journal.emit(e.Declined(target.run.id, target.it.number, op.reason.strip(), by))
    if not target.it.held:
        _decided(engine, target)


def _decided(engine: Engine, target: RunIteration) -> None:
    """Clear what the run waits for, also if a former daemon recorded it, and let the run go on."""
    run, it = target
    set_waiting(engine.journal, run_of(engine.journal, run.id), None, lane_of(run, it))
    engine.wake()


def again(engine: Engine, op: MeasureAgain, target: RunIteration, by: str) -> None:
    """Ask for the candidate to be measured once more, against the incumbent of that time, in a new iteration."""
    run, it = target
    if not any(isinstance(event.fact, e.Proposed) for event in engine.journal.events(run.id, it.number)):
        why = of_iteration(it) or "its agent proposed nothing"
        raise Refused(f"{target.ref} has no candidate: {why}", f"kpd log {run.id}")
    engine.journal.emit(e.AgainAsked(run.id, it.number, op.thorough, by))
    engine.wake()


def memo(engine: Engine, op: WriteMemo, target: RunIteration, by: str) -> None:
    if not (text := op.text.strip()):
        raise Refused("the memo is empty")
    run, it = target
    engine.journal.emit(e.MemoGiven(run.id, it.number, text, by))
    IterationFolder(engine.workspace.iteration_folder(run.task, run.id, it.number)).write("memo.md", f"{text}\n")


def edit(engine: Engine, op: EditKernel, target: Run, by: str) -> None:
    """Save the operator's text in the task folder, where it is measured next like any other edit.

    Editable files that are not named stay as they are. Raises Refused, TaskError, OutsideFolder, OSError.
    """
    run, files = target, op.files
    live = engine.workspace.tasks / run.task
    if not edits.is_open(run):
        message = f"{run.id} has not begun: an edit would be measured by no run"
        raise Refused(message, f"edit {live}: the run will begin with it")
    snapshot = edits.snapshot_of(engine.workspace, run)
    if strange := protected_touched(snapshot, files, op.removed):
        what = "cannot be removed from" if strange[0] in op.removed else "is not an editable file of"
        named = strange[0] if is_plain(strange[0]) else ascii(strange[0])[:LONGEST_PATH]  # it may look like another
        raise Refused(f"{named} {what} {run.task}", f"editable are {snapshot.told}")
    if empty := [path for path, text in files.items() if not text]:
        raise Refused(f"{empty[0]} would be empty", "kpd takes an empty file for one that is just being saved")
    engine.look_at_folders({run.task})
    run = run_of(engine.journal, run.id)
    now = read_tree(live, snapshot)
    wanted = {path: data for path, data in now.items() if path not in op.removed}
    wanted |= {path: text.encode() for path, text in files.items()}
    if (pair := clash(wanted.keys() - now.keys(), (*wanted, *snapshot.protected))) is not None:
        raise Refused(f"{pair[0]} and {pair[1]} cannot be files of one folder", "choose another name")
    if now == wanted:
        raise Refused(f"nothing to save: {live} holds this already")
    try:
        edits.refuse_to_lose(live, wanted, snapshot, run)
    except edits.EditConflict as err:
        raise Refused(str(err), f"edit {live / err.paths[0]} itself, or wait until it is measured") from err
    edits.write(live, wanted, snapshot, now)
    engine.look_at_folders({run.task}, by)
