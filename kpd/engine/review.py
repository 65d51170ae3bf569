"""The step of review: where a run asks for it, a person looks at a candidate before anything is done with it."""

from kpd.agents.catalogue import is_operators
from kpd.engine.attempt import Attempt, Fault
from kpd.engine.waiting import Reminder
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.faults import Declined
from kpd.model.standing import ForApproval


def wanted(at: Attempt) -> bool:
    """Whether a person is to look at the candidate, or was asked to."""
    return at.iteration.review != "" or (at.run.approve and not is_operators(at.iteration.agent))


async def review(at: Attempt, found: Detail) -> e.Reviewed:
    """Wait until a person has approved the candidate. Raises Fault when it is declined, Interrupted.

    All that it waits for is in the log, so that another daemon waits for the same.
    """
    if at.iteration.review == "":
        at.journal.emit(e.ReviewAsked(at.run_id, at.number))
    with at.elsewhere():
        await _decided(at)
    if at.iteration.review == "declined":
        raise Fault(_declined(at), final=True)
    return e.Reviewed(at.run_id, at.number, 0.0, 0.0)


async def _decided(at: Attempt) -> None:
    waits = Reminder(at.journal, at.run_id)
    try:
        while at.iteration.review == "waits":
            await at.control.boundary()
            waits(ForApproval(at.run_id, at.number))
            await at.control.wait_until(lambda: at.iteration.review != "waits" or not at.run.waiting)
    finally:
        waits(None)


def _declined(at: Attempt) -> Declined:
    facts = (event.fact for event in at.journal.events(at.run_id, at.number))
    last = [fact for fact in facts if isinstance(fact, e.Declined)][-1]
    return Declined(last.by, last.reason)
