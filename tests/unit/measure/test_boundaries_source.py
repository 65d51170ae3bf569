"""How long and how many: flags, lines and comments of a candidate that are still looked at."""

import re

import pytest

from kpd.measure.flags import AllowList, FlagError
from kpd.measure.omitted_code import elided
from kpd.measure.screen import suspicious

ALLOWED = AllowList(frozenset({"-O2"}), (re.compile("-x+"),), frozenset({"-take"}))


@pytest.mark.parametrize(("count", "allowed"), [(32, True), (33, False)])
def test_a_candidate_may_set_32_flags(count: int, allowed: bool) -> None:
    if allowed:
        assert len(ALLOWED.parse("-O2 " * count)) == count
    else:
        with pytest.raises(FlagError):
            ALLOWED.parse("-O2 " * count)


@pytest.mark.parametrize(("length", "allowed"), [(80, True), (81, False)])
def test_a_flag_may_have_80_characters(length: int, allowed: bool) -> None:
    assert ALLOWED.allows("-".ljust(length, "x")) is allowed


def test_a_flag_takes_the_next_word_and_no_more() -> None:
    lenient = AllowList(frozenset({"-take=-O2", "-O2"}), (), frozenset({"-take"}))
    assert lenient.parse("-take -O2 -O2") == ("-take=-O2", "-O2")


@pytest.mark.parametrize(("column", "seen"), [(999, True), (1000, False)])
def test_a_thousand_characters_of_a_line_are_looked_at(column: int, seen: bool) -> None:
    """A word that ends at the last character that is looked at, or one behind it."""
    mark = "clock64"
    line = f"{' ' * (column + 1 - len(mark))}{mark}"
    flags = suspicious({}, {"kernel.py": line.encode()}, ())
    assert any("clock" in flag.what for flag in flags) is seen
    assert any(str(len(line)) in flag.what for flag in flags) is (len(line) > 1000)


@pytest.mark.parametrize(("length", "found"), [(120, True), (121, False)])
def test_a_comment_in_place_of_code_has_120_characters_at_most(length: int, found: bool) -> None:
    said = "rest of the kernel unchanged "
    assert elided("k.c", f"// {said}{'1' * (length - len(said))}") is found


@pytest.mark.parametrize(("words", "found"), [(7, True), (8, False)])
def test_with_dots_it_has_seven_words_at_most(words: int, found: bool) -> None:
    said = " ".join([*"abcdefg"[: words - 1], "unchanged"])
    assert elided("k.c", f"// {said} ...") is found
    assert elided("k.c", f"int x = 1;  // {said} ...") is False
