"""The diff on the screen: what it compares, taken apart and laid out, from hunk to hunk, and bounded."""

import difflib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.drawn import examples
from tests.support.tui import logs
from tests.support.tui.feed import DIFF, CannedFeed, app_on, settled
from tests.support.tui.views import plain, view_of
from tui.model.answers import Diff, LoadedDetails
from tui.model.outline import TreePosition
from tui.model.selected import compared_with, nothing_to_compare
from tui.model.view import View
from tui.panes import diff, syntax
from tui.panes.folding import cut, folded
from tui.panes.hunks import laid_out
from tui.panes.patch import MOST_LINES, Hunk, Line, parsed
from tui.widgets.pane import DiffPane

OLD = "int a;\nint b;\nint c;\nfor (;;) x += y[i];\nreturn x;\n"
NEW = "int a;\nint b2;\n#pragma unroll\nfor (;;) x += y[i] * z;\nreturn x;\n"
TEXT = st.lists(st.text("abc -+@\\x{}\u05e9日", max_size=12), max_size=12).map(
    lambda rows: "".join(f"{row}\n" for row in rows)
)


def made(old: str, new: str, name: str = "kernel.c", context: int = 3) -> str:
    """What the daemon answers: the same library makes it."""
    rows = difflib.unified_diff(
        old.splitlines(True), new.splitlines(True), f"r1.4/{name}", f"r1.5/{name}", n=context
    )  # fmt: skip
    return "".join(rows)


def on(text: str, **fields: Any) -> View:
    return view_of(logs.some(), shown=LoadedDetails(diff=Diff(text, "r1.4", "r1.5")), **fields)


# ── what it compares ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_daemon_is_asked_for_what_is_compared_with() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    mark = TreePosition(logs.TASK, "r1", 3)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        for against in ("baseline", "mark", "parent"):
            app.view = replace(app.view, against=against, mark=mark)
            app.change()
            await settled(pilot)
        assert app.query_one(DiffPane).lines[0].plain.startswith("r1.1 → r1.5"), "the first answer still holds"
    asked = [args.get("against") for what, args in feed.queries if what == "diff"]
    assert asked == [None, "r1.0", "r1.3"]


@pytest.mark.parametrize(
    ("number", "fields", "says"),
    [
        (0, {}, "nothing to compare it with"),
        (0, {"against": "baseline"}, "r1.0 is the baseline itself"),
        (5, {"against": "mark"}, "No iteration is marked"),
        (5, {"against": "mark", "mark": TreePosition(logs.TASK, "r1", 5)}, "r1.5 is the marked iteration itself"),
        (5, {"against": "baseline"}, ""),
        (5, {"against": "mark", "mark": TreePosition("other", "r2", 1)}, ""),
    ],
)
def test_where_nothing_can_be_compared_a_sentence_says_why(number: int, fields: dict[str, Any], says: str) -> None:
    view = view_of(logs.some(), TreePosition(logs.TASK, "r1", number), **fields)
    assert says in nothing_to_compare(view)
    assert bool(nothing_to_compare(view)) == bool(says)
    shown = plain(diff.lines(view, 200, 20))
    assert says in shown if says else "Asking the daemon" in shown


def test_before_a_candidate_is_proposed_the_diff_says_when_it_comes() -> None:
    view = view_of(logs.some().begin(6, parent=4))
    assert plain(diff.lines(view, 100, 20)) == "The diff appears when the propose step is done."


def test_two_that_are_the_same_say_so() -> None:
    assert "changes nothing" in plain(diff.lines(on(""), 100, 20))
    assert "same to the letter" in plain(diff.lines(on("", against="baseline"), 100, 20))
    assert compared_with(on("", against="baseline")) == TreePosition(logs.TASK, "r1", 0)


# ── taken apart ───────────────────────────────────────────────────────────────────────────────────────────────────


@given(TEXT, TEXT)
def test_both_files_can_be_read_off_the_hunks(old: str, new: str) -> None:
    """With all of the file as context, nothing may be missing, whatever the lines look like."""
    patch = parsed(made(old, new, context=100))
    if old == new:
        assert patch.hunks == ()
        return
    (hunk,) = patch.hunks
    assert [line.text for line in hunk.lines if line.sign in " -"] == old.splitlines()
    assert [line.text for line in hunk.lines if line.sign in " +"] == new.splitlines()
    assert [line.old for line in hunk.lines if line.old] == list(range(1, len(old.splitlines()) + 1))
    assert [line.new for line in hunk.lines if line.new] == list(range(1, len(new.splitlines()) + 1))
    shown = [nth for pair in hunk.pairs() for nth in dict.fromkeys(pair) if nth is not None]
    assert sorted(shown) == list(range(len(hunk.lines))), "each line stands side by side with something once"


def test_lines_that_are_alike_stand_beside_each_other() -> None:
    (hunk,) = parsed(made(OLD, NEW)).hunks
    beside = [tuple(None if nth is None else hunk.lines[nth].text for nth in pair) for pair in hunk.pairs()]
    assert ("for (;;) x += y[i];", "for (;;) x += y[i] * z;") in beside
    assert ("int b;", "int b2;") in beside
    assert all(one == other for one, other in beside if one in ("int a;", "return x;"))


def test_a_removed_line_that_looks_like_a_header_is_a_line() -> None:
    patch = parsed(made("-- x\n", "++ y\n"))
    assert (patch.added, patch.removed, patch.files) == (1, 1, ("kernel.c",))
    assert [(one.sign, one.text) for one in patch.hunks[0].lines] == [("-", "-- x"), ("+", "++ y")]


def test_what_is_no_diff_is_a_remark() -> None:
    patch = parsed("harness.bin: too large to compare\n" + made(OLD, NEW))
    assert patch.remarks == ("harness.bin: too large to compare",)
    assert "too large to compare" in plain(diff.lines(on("harness.bin: too large to compare\n"), 60, 20))


# ── laid out ──────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=examples(60))
@given(TEXT, TEXT, st.integers(30, 130), st.booleans())
def test_every_row_fits_and_no_text_is_lost(old: str, new: str, width: int, split: bool) -> None:
    text = made(old, new)
    rows = laid_out(text, width, split).rows
    assert all(row.cell_length <= width for row in rows)
    shown = "".join("".join(row.plain.split()) for row in rows)
    for hunk in parsed(text).hunks:
        for line in hunk.lines:
            assert all(shown.count(char) >= 1 for char in line.text if not char.isspace())


@given(st.text("ab ,(\u05e9日é", max_size=80), st.integers(8, 40))
def test_folding_loses_nothing(text: str, room: int) -> None:
    from rich.cells import cell_len

    rows = folded(text, room)
    assert "".join(text[begin:end] for begin, end, _ in rows) == text
    assert all(cell_len(text[begin:end]) + inset <= room for begin, end, inset in rows)
    assert "".join(cut(text, room)) == text
    assert all(cell_len(one) <= room for one in cut(text, room))


def test_the_two_sides_stand_beside_each_other_where_there_is_room() -> None:
    text = made(OLD, NEW)
    wide = plain(diff.lines(on(text, split=True), 120, 20))
    assert "int b;" in (row := next(row for row in wide.splitlines() if "int b2;" in row))
    assert "│" in row
    narrow = plain(diff.lines(on(text, split=True), 78, 20))
    assert "side by side takes 100 columns, here are 78" in " ".join(narrow.split())
    assert not any("int b;" in row and "int b2;" in row for row in narrow.splitlines())


def test_program_text_has_colours_by_its_file_and_other_text_has_none() -> None:
    line = "__global__ void f(float4 x) { return 1.0f; } // ok"
    names = ("a.cu", "a.c", "a.py", "a.bin", "noname")
    styles = {name: {style for _, _, style in syntax.spans(name, [line])[0]} for name in names}
    assert {".code-type", ".code-keyword", ".code-number", ".code-comment"} <= styles["a.cu"]
    assert styles["a.c"]
    assert styles["a.py"]
    assert styles["a.bin"] == styles["noname"] == set()


def test_a_comment_over_several_lines_stays_one() -> None:
    first, second, third = syntax.spans("a.c", ["int a; /* it", "goes on", "*/ int b;"])
    assert first[-1][2] == second[0][2] == third[0][2] == ".code-comment"
    assert third[-1][2] != ".code-comment"


def test_what_changed_within_a_line_is_set_off() -> None:
    rows = laid_out(made(OLD, NEW), 80, False).rows
    (row,) = [row for row in rows if "y[i] * z" in row.plain]
    parts = [row.plain[span.start : span.end] for span in row.spans if span.style == ".plus-part"]
    assert parts == [" * z"]


def test_a_huge_diff_is_cut_with_a_sentence() -> None:
    many = "--- a/x.c\n+++ b/x.c\n@@ -0,0 +1,100000 @@\n" + "+int x;\n" * 100_000
    patch = parsed(many)
    assert (patch.added, patch.left_out) == (100_000, 100_000 - MOST_LINES)
    rows = laid_out(many, 60, False).rows
    assert rows[-1].plain == f"{100_000 - MOST_LINES:,} more lines of this diff are left out here."
    long = "--- a/x.c\n+++ b/x.c\n@@ -0,0 +1,1 @@\n+" + "7" * 10_000_000 + "\n"
    shown = laid_out(long, 60, False).rows
    assert "9,998,000 more characters" in shown[-1].plain
    assert len(shown) < 60


def test_hunks_know_where_they_begin() -> None:
    assert Hunk("a", "", (Line("-", "x", old=7),)).begins == 7
    text = made("\n".join(f"line {n}" for n in range(90)), "\n".join(f"line {n + n // 30}" for n in range(90)))
    sheet = laid_out(text, 60, False)
    begins = [sheet.rows[y].plain.strip("─ ") for y in sheet.hunks]
    assert begins == [f"line {hunk.begins}" for hunk in parsed(text).hunks]


# ── from hunk to hunk ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_next_hunk_comes_into_sight_and_the_foot_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    old = "".join(f"int a{n};\n" for n in range(300))
    text = made(old, old.replace("a50;", "b;").replace("a150;", "b;").replace("a250;", "b;"))
    monkeypatch.setattr("tests.support.tui.feed.DIFF", text)
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=(80, 12)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        pane = app.query_one(DiffPane)
        seen = []
        for step in (pane.next_hunk, pane.next_hunk, pane.next_hunk, pane.previous_hunk):
            step()
            await settled(pilot)
            assert pane.foot is not None
            assert pane.cursor is not None
            assert pane.scroll_offset.y <= pane.cursor < pane.scroll_offset.y + pane.window
            seen.append(pane.foot.plain.split("   ")[0])
        assert seen == ["hunk 2 of 3", "hunk 3 of 3", "hunk 3 of 3", "hunk 2 of 3"]
        pane.scroll_to(0, 0, animate=False)
        await settled(pilot)
        await pilot.press("down")
        await settled(pilot)
        assert pane.hunk == 0, "another iteration begins at its first hunk"


def test_one_hunk_needs_no_foot() -> None:
    view = on(made(OLD, NEW))
    assert diff.foot(view, diff.drawn(view, 60, 20), 0) is None
    assert diff.foot(on(DIFF), diff.drawn(on(DIFF), 60, 20), 0) is not None
