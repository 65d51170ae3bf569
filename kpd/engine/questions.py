"""Ends the questions of agents to operators that nobody waits for any more."""

from kpd.engine.journal import Journal, run_of
from kpd.engine.waiting import set_waiting
from kpd.model import events as e
from kpd.model.waits import ForPermission

LOST = "the daemon ended before anybody answered"


def drop(journal: Journal) -> None:
    """Refuse what agents of a former daemon were waiting for: they have ended with it. Raises JournalError."""
    for run in tuple(journal.state.runs.values()):
        for it in run.iterations:
            for question in it.session.asks if it.session is not None else ():
                assert it.session is not None
                journal.emit(e.PermissionAnswered(run.id, it.number, it.session.id, question.request, False, LOST))
        if isinstance(run.waiting, ForPermission):
            set_waiting(journal, run_of(journal, run.id), None)
