"""After a crash: nothing lost, nothing done twice, and nothing restarted without a person."""

from typing import Literal

from kpd.daemon.journal import Journal
from kpd.model import events as e
from kpd.model.nouns import Run

Ended = Literal["crashed", "cut", "rested"]
"""How the daemon before this one ended: without a goodbye, in the middle of a step, or between two."""


def how_it_ended(journal: Journal) -> Ended:
    """To be asked before this one says that it has started. Raises JournalError."""
    if journal.state.pid is not None:
        return "crashed"
    last = journal.store.tail(1)
    fact = last[0].fact if last else e.DaemonStopped("never started", rested=True)
    return "rested" if isinstance(fact, e.DaemonStopped) and fact.rested else "cut"


def hold_unfinished(journal: Journal, ended: Ended) -> None:
    """Hold the queue for a former daemon's runs until a person says `resume`, unless that one came to rest.

    Their jobs go on meanwhile: a step that is begun again follows its job, or reads what that has measured. What runs
    for nobody is ended when its host is reached (`engine.leftovers`). Raises JournalError.
    """
    state = journal.state
    runs = state.begun or state.queue[:1]
    if state.held or not runs or ended == "rested" or (ended == "cut" and not state.begun):
        return
    where = ", ".join(f"{run.id} was at {_place(run)}" for run in runs)
    how = "the daemon was shut down" if ended == "cut" else "the daemon ended without a goodbye"
    journal.emit(e.QueueHeld(f"{how}, {where}: resume goes on from there, stop ends it"))


def _place(run: Run) -> str:
    if run.status == "queued":
        return "the head of the queue"
    if run.current is None:
        return "the beginning" if not run.iterations else f"the end of iteration {run.iterations[-1].number}"
    return f"iteration {run.current.number}, {run.current.step or 'before its first step'}"
