"""Decides what becomes of a winner with flags: a person looks at it first, unless the task says otherwise."""

from kpd.agents.catalogue import is_operators
from kpd.engine.attempt import Attempt
from kpd.model.agents import AGAIN
from kpd.model.flags import Flag
from kpd.model.iteration import Iteration
from kpd.model.run import Run


def doubted(attempt: Attempt) -> tuple[Flag, ...]:
    """Return the flags of the candidate that no person has seen and let pass in this run."""
    run, it = attempt.run, attempt.iteration
    known = {flag for one in run.iterations if _passed(one) for flag in one.flags}
    if attempt.task.check.flagged == "note" or _of_person(run, it):
        return ()
    return tuple(flag for flag in it.flags if flag not in known)


def _passed(it: Iteration) -> bool:
    """Return whether a person accepted the iteration, or its flags."""
    return it.override is not None or it.hold == "approved"


def _of_person(run: Run, it: Iteration) -> bool:
    """Return whether the candidate is a person's own edit: nobody else has to look at it."""
    if it.agent == AGAIN:
        of = run.iteration(it.again) if it.again is not None else None
        return of is not None and _of_person(run, of)
    return is_operators(it.agent)
