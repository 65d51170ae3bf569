"""What the demo's captions say of an iteration."""

import pytest

from kpd.model.causes import IterationCause
from kpd.model.defects import Complaint, WrongResult
from kpd.model.exhaustion import AgentSays
from kpd.model.faults import DeclinedBy, Implausible, Impossible, Incorrect, IncorrectHeldOut, IncorrectTimed, NotMended
from kpd.model.iteration import Iteration
from tests.support.model.samples import done
from tui.panes.captions import _outcome

WRONG = WrongResult(Complaint("out[3] is 1"))


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (Incorrect(WRONG), "gave wrong results: rejected before it was ever timed."),
        (IncorrectTimed(WRONG), "gave wrong results in the end: rejected, however fast it was."),
        (IncorrectHeldOut(WRONG), "gave wrong results in the end: rejected, however fast it was."),
        (NotMended(Incorrect(WRONG), AgentSays("no more")), "gave wrong results: rejected before it was ever timed."),
        (Impossible("wide", 1.0, 2.0), "is faster than the hardware can be: rejected."),
        (Implausible(2e4, 1e3), "is too fast to be believed without a check of its results: rejected."),
        (DeclinedBy("ada"), "was not let through: rejected before it was ever timed."),
    ],
)
def test_a_rejection_without_a_verdict_says_when_it_was(cause: IterationCause, words: str) -> None:
    it = Iteration(3, "sweep", 0, 0.0, status=done("rejected", cause))
    assert _outcome(it) == f"Iteration 3 {words}"
