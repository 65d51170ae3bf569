"""What an operator may ask of a run's candidates: to look at them first, to see one again, to have one of their own."""

from kpd.engine import edits, taskfolder
from kpd.engine.engine import Engine
from kpd.engine.journal import run_of
from kpd.engine.refused import Refused, refuse_ended
from kpd.engine.waiting import tell
from kpd.model import events as e
from kpd.model.nouns import Iteration, Run
from kpd.text.endings import of_iteration


def review(engine: Engine, run: Run, on: bool, by: str) -> None:
    """Whether the run's candidates wait for a person; when no longer, one that waits goes on."""
    refuse_ended(run, "set [run] approve in config.toml, or queue a run with --approve")
    if not on and (waits := waiting(run)) is not None:
        approve(engine, run, waits, by)
    if run.approve != on:
        engine.journal.emit(e.ReviewSet(run.id, on, by))


def waiting(run: Run) -> Iteration | None:
    """The candidate that waits for a person."""
    current = run.current
    return current if current is not None and current.review == "waits" else None


def approve(engine: Engine, run: Run, it: Iteration, by: str) -> None:
    """Let a candidate that waits be built."""
    _waits(run, it)
    engine.journal.emit(e.Approved(run.id, it.number, by))
    _decided(engine, run)


def decline(engine: Engine, run: Run, it: Iteration, reason: str, by: str) -> None:
    """End a candidate that waits as rejected; agents read why when they next propose."""
    _waits(run, it)
    engine.journal.emit(e.Declined(run.id, it.number, reason, by))
    _decided(engine, run)


def again(engine: Engine, run: Run, it: Iteration, thorough: bool, by: str) -> None:
    """Have what an iteration proposed measured once more, against the incumbent of then, as an iteration of its own."""
    name = f"{run.id}.{it.number}"
    refuse_ended(run)
    if it.outcome is None:
        raise Refused(f"{name} is still under way")
    if not any(isinstance(event.fact, e.Proposed) for event in engine.journal.events(run.id, it.number)):
        raise Refused(
            f"{name} has no candidate: {of_iteration(it) or 'its agent proposed nothing'}", f"kpd log {run.id}"
        )
    if any((wish.of, wish.thorough) == (it.number, thorough) for wish in run.again):
        raise Refused(f"{name} is to be measured again already")
    engine.journal.emit(e.AgainAsked(run.id, it.number, thorough, by))
    engine.wake()


def edit(engine: Engine, run: Run, files: dict[str, str], by: str) -> None:
    """Save the operator's text in the task folder, where it is measured next like any edit there.

    Editable files that are not named stay as they are. Raises Refused, TaskError, OSError.
    """
    live = engine.workspace.tasks / run.task
    if not edits.is_open(run):
        state = "has ended" if run.status == "ended" else "has not begun"
        raise Refused(f"{run.id} {state}: an edit would be measured by no run", f"edit {live}; a run begins with that")
    editable = edits.snapshot_of(engine.workspace, run).editable
    if strange := [path for path in files if path not in editable]:
        raise Refused(f"{strange[0]} is not an editable file of {run.task}", f"editable are {', '.join(editable)}")
    if empty := [path for path, text in files.items() if not text]:
        raise Refused(f"{empty[0]} would be empty", "kpd takes an empty file for one that is just being saved")
    wanted = {path: text.encode() for path, text in files.items()}
    engine.look_at_folders({run.task})
    run = run_of(engine.journal, run.id)
    now = taskfolder.present(live, tuple(wanted))
    if now == wanted:
        raise Refused(f"nothing to save: {live} holds this already")
    try:
        taskfolder.refuse_to_lose(live, wanted, run)
    except taskfolder.Conflict as err:
        raise Refused(str(err), f"edit {live / next(iter(wanted))} itself, or wait until it is measured") from err
    taskfolder.write(live, wanted)
    engine.look_at_folders({run.task}, by)


def _waits(run: Run, it: Iteration) -> None:
    if waiting(run) != it:
        raise Refused(f"{run.id}.{it.number} does not wait for a person", "kpd status shows what does")


def _decided(engine: Engine, run: Run) -> None:
    """Also a run that another daemon left waiting says so no more."""
    tell(engine.journal, run_of(engine.journal, run.id), None)
    engine.wake()
