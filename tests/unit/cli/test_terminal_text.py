"""Text for terminals: nothing in it drives one, and nothing is wider than asked for."""

import re
import unicodedata

import pytest
from hypothesis import example, given, strategies as st

from kpd.cli import labels
from kpd.cli.terminal_text import clean, cut, line, pad, paint, table, width, wrapped
from kpd.text import numbers
from kpd.text.foreign import visible

hostile = st.text(st.characters(codec=None), max_size=60)


@given(hostile)
@example("\x1b]0;title\x07\x1b[2J\x9b31m\u202eevil\u2066\r\x7f\u2028\ufeff")
def test_plain_text_cannot_drive_a_terminal(text: str) -> None:
    made = visible(text)
    for char in made:
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Zl", "Zp"), repr(char)
    made.encode(errors="replace")
    assert visible(made) == made
    assert len(made) == len(text)


def test_what_is_harmless_stays() -> None:
    assert visible("gain ▲ +3 %\n\tüber µs") == "gain ▲ +3 %\n\tüber µs"
    assert visible("\x1b[31m") == "␛[31m"
    assert clean({"memo": ["\x07", {"a\x00": "\x1b"}], "n": 1.5, "x": None}) == {
        "memo": ["␇", {"a␀": "␛"}],
        "n": 1.5,
        "x": None,
    }


@given(hostile, st.integers(0, 40))
def test_cut_fits(text: str, cells: int) -> None:
    text = line(text)
    short = cut(text, cells)
    assert width(short) <= cells
    assert short == text or short == "" or short.endswith("…")
    assert width(pad(short, cells)) == cells


@given(st.lists(st.tuples(hostile, hostile, hostile), max_size=4), st.integers(60, 120))
def test_tables_line_up_within_the_width(rows: list[tuple[str, str, str]], limit: int) -> None:
    rows = [(a[:10], b[:10], c) for a, b, c in rows]
    made = table(("A", "B", "C"), rows, limit)
    assert len(made) == len(rows) + 1
    assert all(width(text) <= limit for text in made)
    assert all("\n" not in text for text in made)


def test_tables_without_a_terminal_are_whole() -> None:
    long = "x" * 500
    assert table(("A", "BIG µs"), [("1", long)], None, right="BIG_µs") == [
        f"A  {'BIG µs':>500}",
        f"1  {long}",
    ]


def test_wrapping_keeps_paragraphs_and_long_words() -> None:
    assert wrapped("a b\n\nc", 40, "  ") == ["  a b", "", "  c"]
    assert wrapped("y" * 60, 40) == ["y" * 60]
    assert all(len(text) <= 40 for text in wrapped("word " * 50, 40))


def test_paint() -> None:
    assert paint("x", "red", True) == "\x1b[31mx\x1b[0m"
    assert paint("x", "red", False) == paint("x", "", True) == "x"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (12.4, "12 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min"),
     (3600, "1 h"), (273_600, "3 d 4 h"), (-1, "0.0 s")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert numbers.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0, "0"), (0.00012, "1.200e-04"), (1.5, "1.500"), (12.345, "12.35"), (123.45, "123.5"),
     (12345.6, "12,346"), (2e9, "2.000e+09"), (40.0, "40")],
)  # fmt: skip
def test_numbers(value: float | None, text: str) -> None:
    assert numbers.number(value) == text


def test_a_gain_is_told_as_a_factor() -> None:
    def verdict(word: str, pct: float) -> dict[str, object]:
        return {"word": word, "gain": {"pct": pct, "low": pct - 1, "high": pct + 1}}

    assert labels.gain(verdict("faster", 3.14)) == "1.032× [1.022, 1.043]"
    assert labels.gain(verdict("slower", -3.0)) == "0.971× [0.962, 0.980]"
    assert labels.gain(None) == ""
    assert not re.search("[\x00-\x1f]", labels.gain(verdict("faster", 1.0)))
