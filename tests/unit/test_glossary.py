"""docs/glossary.md: each term once, and what it names is there."""

import re

from tests.places import ROOT

ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
TERMS = [(term, where) for term, _, where in ROWS if term not in ("term", "---")]


def test_each_term_is_explained_once() -> None:
    terms = [one.strip() for row, _ in TERMS for one in row.split(",")]
    assert len(terms) > 30 and len(terms) == len(set(terms))


def test_the_code_that_a_term_names_is_there() -> None:
    named = [path for _, where in TERMS for path in re.findall(r"`([^`]+)`", where)]
    assert len(named) > 20
    assert not [path for path in named if not (ROOT / path).exists()]
