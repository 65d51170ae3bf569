"""Counts with their nouns, in one and in several."""

import pytest

from kpd.text.numbers import counted


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
