"""After a crash: nothing lost, nothing done twice, and nothing restarted without a person."""

from kpd.engine.journal import Journal
from kpd.model import events as e
from kpd.model.nouns import Run


def hold_unfinished(journal: Journal, clean_end: bool) -> None:
    """Hold the queue for a former daemon's runs until a person says `resume`.

    Their jobs go on meanwhile: a step that is begun again follows its job, or reads what that has measured. What runs
    for nobody is ended when its host is reached (`engine.leftovers`). Raises JournalError.
    """
    state = journal.state
    runs = state.begun or state.queue[:1]
    if state.held or not runs or (clean_end and not state.begun):
        return
    where = ", ".join(f"{run.id} was at {_place(run)}" for run in runs)
    how = "the daemon was shut down" if clean_end else "the daemon ended without a goodbye"
    journal.emit(e.QueueHeld(f"{how}, {where}: resume goes on from there, stop ends it"))


def _place(run: Run) -> str:
    if run.status == "queued":
        return "the head of the queue"
    if run.current is None:
        return "the beginning" if not run.iterations else f"the end of iteration {run.iterations[-1].number}"
    return f"iteration {run.current.number}, {run.current.step or 'before its first step'}"
