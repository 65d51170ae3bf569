"""Counts with their nouns, in one and in several."""

import pytest

from kpd.text.numbers import counted, moment


@pytest.mark.parametrize(
    ("count", "what", "said"),
    [
        (0, "call", "0 calls"),
        (1, "call", "1 call"),
        (2, "call", "2 calls"),
        (1, "fresh process", "1 fresh process"),
        (9, "fresh process", "9 fresh processes"),
        (4096, "launch", "4,096 launches"),
        (2, "wish", "2 wishes"),
        (1.0, "hour", "1 hour"),
        (1.5, "hour", "1.5 hours"),
        (0.5, "hour", "0.5 hours"),
    ],
)
def test_a_count_has_its_noun(count: float, what: str, said: str) -> None:
    assert counted(count, what) == said


def test_a_time_that_no_calendar_has_is_told_all_the_same() -> None:
    """A log that is damaged, or a host's answer, may hold any."""
    assert [moment(at) for at in (1e300, float("nan"), float("-inf"))] == ["--"] * 3
    assert ":" in moment(0)
