"""What a session says about tools is read from its last words, and what it is told names its files."""

import pytest

from kpd.sessions.smith_brief import improvement


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("IMPROVEMENT: a linter", "a linter"),
        ("So:\n\n**IMPROVEMENT:** `a linter`\n", "a linter"),
        ("IMPROVEMENT: a linter\nIMPROVEMENT: a search", "a search"),
        ("IMPROVEMENT: nothing", ""),
        ("IMPROVEMENT: None.", ""),
        ("IMPROVEMENT: no tool would have helped", ""),
        ("IMPROVEMENT: **nothing!**", ""),
        ("IMPROVEMENT: No tool shows registers per loop", "No tool shows registers per loop"),
        ("IMPROVEMENT: nothing shows spills; a report of them", "nothing shows spills; a report of them"),
        ("IMPROVEMENT: notes on loops", "notes on loops"),
        ("IMPROVEMENT:", ""),
        ("I built a linter.", ""),
        ("", ""),
    ],
)
def test_exactly_one_improvement_is_read(said: str, named: str) -> None:
    assert improvement(said) == named
