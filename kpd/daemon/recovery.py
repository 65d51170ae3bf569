"""After a crash: nothing lost, nothing done twice, and nothing restarted without a person."""

from typing import Literal

from kpd.daemon.journal import Journal
from kpd.model import events as e
from kpd.model.nouns import Run
from kpd.model.standing import LeftAt, Unfinished

Ended = Literal["crashed", "cut", "rested"]
"""How the daemon before this one ended: without a goodbye, in the middle of a step, or between two."""


def how_it_ended(journal: Journal) -> Ended:
    """To be asked before this one says that it has started. Raises JournalError."""
    if journal.state.pid is not None:
        return "crashed"
    last = journal.store.tail(1)
    fact = last[0].fact if last else e.DaemonStopped(rested=True)
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
    journal.emit(e.QueueHeld(Unfinished("cut" if ended == "cut" else "crashed", tuple(map(_left_at, runs)))))


def _left_at(run: Run) -> LeftAt:
    if run.status == "queued":
        return LeftAt(run.id, queued=True)
    if run.current is not None:
        return LeftAt(run.id, iteration=run.current.number, step=run.current.step)
    return LeftAt(run.id, iteration=run.iterations[-1].number, behind=True) if run.iterations else LeftAt(run.id)
