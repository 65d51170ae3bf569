"""What the demo's captions say of an iteration."""

import pytest

from kpd.model.nouns import Iteration
from tui.panes.captions import _outcome


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("incorrect: out[3] is 1", "gave wrong results: rejected before it was ever timed."),
        ("incorrect while timed: out[3] is 1", "gave wrong results in the end: rejected, however fast it was."),
        ("incorrect on the held-out cases: 8192", "gave wrong results in the end: rejected, however fast it was."),
        ("impossible: twice the bandwidth", "is faster than the hardware can be: rejected."),
        ("declined by ada", "was not let through: rejected before it was ever timed."),
    ],
)
def test_a_rejection_without_a_verdict_says_when_it_was(reason: str, words: str) -> None:
    it = Iteration(3, "sweep", 0, 0.0, outcome="rejected", reason=reason)
    assert _outcome(it) == f"Iteration 3 {words}"
