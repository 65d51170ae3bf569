"""Implements the step `review`: waits for a person's approval where the run asks for it."""

from kpd.agents.catalogue import is_operators
from kpd.engine.attempt import Attempt, CandidateFailed
from kpd.engine.waiting import WaitReporter
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.faults import DeclinedBy
from kpd.model.lanes import waits_in
from kpd.model.waits import ForApproval


def wanted(attempt: Attempt) -> bool:
    """Return whether a person has to approve the candidate, or was asked to."""
    return attempt.iteration.review != "" or (attempt.run.approve and not is_operators(attempt.iteration.agent))


async def review(attempt: Attempt, found: Detail) -> e.Reviewed:
    """Wait until a person has approved the candidate. Raises CandidateFailed when it is declined, and Interrupted.

    What it waits for is in the log, so that another daemon waits for the same.
    """
    if attempt.iteration.review == "":
        attempt.journal.emit(e.ReviewAsked(attempt.run_id, attempt.number))
    with attempt.elsewhere():
        await _decided(attempt)
    if attempt.iteration.review == "declined":
        raise CandidateFailed(_declined(attempt), final=True)
    return e.Reviewed(attempt.run_id, attempt.number, 0.0, 0.0)


async def _decided(attempt: Attempt) -> None:
    waits = WaitReporter(attempt.journal, attempt.run_id, attempt.lane)
    try:
        while attempt.iteration.review == "waits":
            await attempt.control.checkpoint()
            waits(ForApproval(attempt.run_id, attempt.number))
            await attempt.control.wait_until(
                lambda: attempt.iteration.review != "waits" or not waits_in(attempt.run, attempt.lane)
            )
    finally:
        waits(None)


def _declined(attempt: Attempt) -> DeclinedBy:
    facts = (event.fact for event in attempt.journal.events(attempt.run_id, attempt.number))
    last = [fact for fact in facts if isinstance(fact, e.Declined)][-1]
    return DeclinedBy(last.by, last.reason)
