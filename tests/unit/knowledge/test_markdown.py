"""Words of others as one harmless line, and which lines of a file are headings."""

import re
import unicodedata

import pytest
from hypothesis import given, strategies as st

from kpd.knowledge.markdown import cut, lines
from kpd.text.foreign import bare, escaped

OWN = re.compile(r"## Run .*")


@given(st.text(max_size=600))
def test_words_of_others_are_one_harmless_line(text: str) -> None:
    line = escaped(text)
    assert len(line.splitlines()) <= 1
    assert all(unicodedata.category(char)[0] != "C" for char in line)
    left = re.sub(r"\\.", "", line)
    assert not re.search(r"[`*_\[\]<>#|]", left)
    assert len(left) <= 400


@given(st.text())
def test_a_line_made_harmless_twice_is_the_same(text: str) -> None:
    once = escaped(text)
    assert escaped(bare(once)) == once


@given(st.text(st.characters(blacklist_categories=("C", "Z")), max_size=400))
def test_what_was_said_can_be_had_back(text: str) -> None:
    assert bare(escaped(text)) == text


@pytest.mark.parametrize(
    ("line", "level", "title"),
    [
        ("## Avoid", 2, "Avoid"),
        ("   ### Try ##", 3, "Try"),
        ("#\tone", 1, "one"),
        ("    ## indented code", 0, ""),
        ("##no blank", 0, ""),
        ("####### seven", 0, ""),
        (r"\## escaped", 0, ""),
        ("- ## in a list", 0, ""),
    ],
)
def test_headings(line: str, level: int, title: str) -> None:
    (found,) = lines(line, OWN)
    assert (found.level, found.title) == (level, title)


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("```\n# a\n```\n# b", ["b"]),
        ("~~~ c\n# a\n```\n# a\n~~~\n# b", ["b"]),
        ("````\n# a\n```\n# a\n`````\n# b", ["b"]),
        ("```\n# a\n``` c\n# a", []),
        ("``` not `a` fence\n# b", ["b"]),
        ("```\n# a\n## Run r1 · x\n# b", ["Run r1 · x", "b"]),
    ],
)
def test_a_fence_has_no_headings_and_ends_where_kpd_goes_on(text: str, headings: list[str]) -> None:
    assert [line.title for line in lines(text, OWN) if line.level] == headings


@given(st.text(), st.integers(1, 60))
def test_a_cut_is_within_its_limit_and_at_a_line(text: str, limit: int) -> None:
    found = cut(text, limit)
    assert len(found) <= limit
    if len(text) <= limit:
        assert found == text
    else:
        assert found.endswith("…")
        assert text.startswith(found.removesuffix("…").removesuffix("\n"))


def test_a_cut_keeps_whole_lines() -> None:
    assert cut("one\ntwo\nthree\n", 12) == "one\ntwo\n…"
    assert cut("one two", 5) == "one …"
