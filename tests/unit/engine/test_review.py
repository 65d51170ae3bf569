"""The review gate, on a real daemon: candidates wait for a person, through whatever happens meanwhile."""

from kpd.daemon.alert import worth_telling
from kpd.model import events as e


def test_a_person_is_told_that_a_candidate_waits_and_how_to_let_it_go_on() -> None:
    text = worth_telling(e.ReviewAsked("r3", 7))
    assert text is not None
    assert all(f"kpd {verb} r3.7" in text for verb in ("diff", "approve", "decline"))
    assert worth_telling(e.Approved("r3", 7)) is None
