"""Text from elsewhere on a cell grid, figures, and tables that never cut a number."""

import math
import unicodedata

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from tui.format import numbers
from tui.format.table import Column, table
from tui.format.text import LONGEST_LINE, clean, clip, fit, lines_of, wrapped

HOSTILE = st.text(st.characters(codec="utf-8") | st.sampled_from("\x1b[]\x07\x00\r\n\t\u202e\u200d\u0301[bold]שلم日🇩"))

FLOATS = st.floats(-1e9, 1e9)


@given(HOSTILE)
def test_clean_text_has_only_characters_with_a_width_of_their_own(text: str) -> None:
    safe = clean(text)
    assert not {unicodedata.category(char) for char in safe} & {"Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me", "Zl", "Zp"}
    assert cell_len(safe) == sum(cell_len(char) for char in safe)


@given(HOSTILE)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("\x1b[1;31mred\x1b[0m text", "red text"),
        ("\x1b]0;a new title\x07text", "text"),
        ("\x1b]8;;http://elsewhere\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
        ("abc\u202ecba", "abccba"),
        ("a\tb\r\nc", "a    b c"),
        ("bell\x07 and nul\x00", "bell and nul"),
    ],
)
def test_control_sequences_go_and_markup_stays_text(raw: str, safe: str) -> None:
    assert clean(raw) == safe


def test_of_an_endless_line_only_the_beginning_is_looked_at() -> None:
    assert len(clean("x" * 10_000_000)) == LONGEST_LINE
    assert len(lines_of("x\n" * 10_000_000, 100)) == 100


@given(HOSTILE, st.integers(0, 40))
def test_clipped_text_fits_and_fitted_text_fills(text: str, width: int) -> None:
    safe = clean(text)
    assert cell_len(clip(safe, width)) <= width
    assert cell_len(fit(safe, width)) == width


@given(HOSTILE, st.integers(12, 60), st.integers(0, 5))
def test_wrapped_lines_fit_and_keep_to_their_number(text: str, width: int, most: int) -> None:
    found = wrapped(text, width, most=most)
    assert all(line.cell_length <= width for line in found)
    assert not most or len(found) <= most


def test_a_figure_and_its_unit_stay_on_one_line() -> None:
    text = "memory bound: L2 at 79 % of its peak, 2,466 GB/s in 31 µs; 5 sectors"
    for width in range(12, 40):
        lines = [line.plain for line in wrapped(text, width)]
        assert " ".join(lines) == text
        assert not any(line.startswith(("%", "GB/s", "µs")) for line in lines)
    assert [line.plain for line in wrapped("has 5 sectors", 10)] == ["has 5", "sectors"], "that is no unit"


@pytest.mark.parametrize(
    ("value", "text"),
    [(324.5, "324.5"), (48.551, "48.55"), (3.42, "3.420"), (0.31, "0.310"), (1330, "1,330"), (-6.1, "−6.100"),
     (48.0, "48"), (0.00001, "1e−05"), (math.nan, "–"), (None, "–"), (math.inf, "∞"), (1e12, "1e+12")],
)  # fmt: skip
def test_figures_keep_the_digits_that_matter(value: float | None, text: str) -> None:
    assert numbers.figure(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(3.14, "+3.1 %"), (-0.04, "−0.0 %"), (250.0, "+250 %"), (-99.97, "−100 %"), (math.nan, "–")]
)
def test_changes_have_a_sign(value: float, text: str) -> None:
    assert numbers.change(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0004, "0 ms"),
        (0.41, "410 ms"),
        (2.44, "2.4 s"),
        (42.0, "42 s"),
        (200.0, "3 min 20 s"),
        (7500.0, "2 h 05 min"),
    ],
)
def test_durations_are_written_as_people_say_them(value: float, text: str) -> None:
    assert numbers.seconds(value) == text


def test_a_delta_from_nothing_is_none() -> None:
    assert numbers.delta(1.0, 0.0) is None
    assert numbers.delta(None, 1.0) is None
    assert numbers.delta(90.0, 100.0) == pytest.approx(-10.0)


@given(
    st.lists(
        st.tuples(st.text("abc ", min_size=1, max_size=60), st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), max_size=6
    ),
    st.integers(24, 120),
)
def test_a_table_drops_columns_but_never_a_digit(rows: list[tuple[str, float, float]], width: int) -> None:
    columns = (Column("what", right=False), Column("first", keep=5), Column("second", keep=1))
    cells = [(name, numbers.figure(one), numbers.figure(two)) for name, one, two in rows]
    drawn = "\n".join(line.plain for line in table(columns, cells, width))
    assert all(first in drawn for _, first, _ in cells)
    if "second" in drawn:
        assert all(second in drawn for _, _, second in cells)


def test_figures_of_one_column_end_in_the_same_cell() -> None:
    drawn = table((Column("case", right=False), Column("µs")), [("a", "1.5"), ("日本", "1,234")], 40)
    assert len({line.cell_length for line in drawn}) == 1
