"""Ends what agents of a former daemon were at, and nobody takes up: questions to operators, and work on tools."""

from kpd.engine import plan
from kpd.engine.journal import Journal, run_of
from kpd.engine.waiting import set_waiting
from kpd.model import events as e
from kpd.model.waits import ForPermission

LOST = "the daemon ended before anybody answered"
UNBUILT = "the daemon ended"


def drop(journal: Journal) -> None:
    """Refuse what agents of a former daemon were waiting for, and end their work on tools. Raises JournalError.

    They have ended with it. A session goes on with its candidate, and with a tool as long as its run has begun no
    other iteration, and has not ended.
    """
    for run in tuple(journal.state.runs.values()):
        for it in run.iterations:
            for question in it.session.asks if it.session is not None else ():
                assert it.session is not None
                journal.emit(e.PermissionAnswered(run.id, it.number, it.session.id, question.request, False, LOST))
            if it.session is not None and it.session.toolsmith and it is not plan.on_a_tool(run):
                journal.emit(e.SmithEnded(run.id, it.number, it.session.id, "broken_off", why=UNBUILT))
        if isinstance(run.waiting, ForPermission):
            set_waiting(journal, run_of(journal, run.id), None)
