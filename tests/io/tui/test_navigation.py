"""What the operator narrows, orders, marks and searches for: nothing of it is a command."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.model import events as e
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.pressing import type_keys
from tests.support.tui.views import plain, view_of
from tui.model.filtering import parsed
from tui.model.outline import ORDERS, TreePosition, outline
from tui.panes import bars
from tui.panes.outline import row_line
from tui.widgets.lines import Lines

RUN = TreePosition(logs.TASK, "r1")


def numbers(log: logs.Log, text: str = "", order: Any = "newest") -> list[int]:
    rows = outline(log.state, {}, RUN, parsed(text), order).rows
    return [row.place.iteration for row in rows if row.place.iteration is not None]


def some() -> logs.Log:
    return logs.some().iteration(6, "by hand", 1.1, "faster", parent=4, before=324.5, agent="operator", findings=())


# ── the filter ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", [6, 5, 4, 3, 2, 1, 0]),
        ("UNROLL", [4, 1]),
        ("unroll 8", [4]),
        ("r1.3", [3]),
        ("operator", [6]),
        ("verdict:rejected", [6, 5, 3, 2]),
        ("verdict:incorrect", [2]),
        ("verdict:slower", [3]),
        ("verdict:not", [6]),
        ("outcome:accepted", [4, 1]),
        ("outcome:base", [0]),
        ("outcome:noise", [0]),
        ("outcome:incorrect", [2]),
        ("fault:incorrect", [2]),
        ("fault:wrong_value", [2]),
        ("fault:build", []),
        ("fault:incorrect unroll", []),
        ("rule:vectorised", [5, 4, 3, 1, 0]),
        ("rule:vectorised outcome:acc tile", []),
        ("agent:operator", [6]),
        ("agent:", [6, 5, 4, 3, 2, 1, 0]),
        ("verdict:rej prefetch", [5]),
    ],
)
def test_the_filter_lets_through_what_has_all_its_words(text: str, shown: list[int]) -> None:
    assert numbers(some(), text) == shown


def test_an_unknown_prefix_is_named_and_narrows_nothing() -> None:
    assert parsed("foo:bar unroll").unknown == "foo:"
    assert numbers(some(), "foo:bar unroll") == [4, 1]
    view = replace(view_of(some()), filter="foo:bar", outline=outline(some().state, {}, RUN, parsed("foo:bar")))
    assert "no filter is called foo: verdict: outcome: fault: rule: agent:" in plain(bars.prompt(view, 120))


def test_a_saved_filter_stands_for_its_words_and_one_that_is_not_saved_is_named() -> None:
    saved = {"Wins": "verdict:accepted r1", "loop": "@loop"}
    assert parsed("@wins unroll", saved) == parsed("verdict:accepted r1 unroll")
    assert parsed("@win", saved).unknown == "@win"
    assert parsed("@loop", saved).unknown == "@loop", "a saved filter uses no other one"
    assert parsed("@", saved) == parsed(""), "its name is still to be typed"
    view = replace(view_of(some()), filter="@x", filters=saved, outline=outline(some().state, {}, RUN, parsed("@x")))
    assert "no filter is called @x @Wins @loop verdict:" in plain(bars.prompt(view, 120))


def test_what_has_nothing_that_is_looked_for_is_left_out_and_what_has_is_unfolded() -> None:
    log = some().emit(e.RunEnded("r1", "improved", Told("done"))).run("r2").baseline("r2").run("r3", "transpose_cpu")
    rows = [row.place for row in outline(log.state, {}, TreePosition(), parsed("tile")).rows]
    assert rows == [TreePosition(logs.TASK), RUN, TreePosition(logs.TASK, "r1", 3)]
    rows = [row.place for row in outline(log.state, {RUN: False}, TreePosition(), parsed("tile")).rows]
    assert rows == [TreePosition(logs.TASK), RUN], "what the operator has folded stays so"
    rows = [row.place for row in outline(log.state, {}, TreePosition(), parsed("transpose")).rows]
    assert rows == [TreePosition("transpose_cpu"), TreePosition("transpose_cpu", "r3")], (
        "a run is found by its own name"
    )


def test_the_order_is_by_age_gain_or_score_and_what_has_none_comes_last() -> None:
    assert numbers(some(), order="gain") == [4, 1, 6, 5, 3, 0, 2]
    assert numbers(some(), order="score") == [6, 5, 4, 1, 3, 0, 2]
    log = some()
    card = replace(log.state.tasks[logs.TASK], direction="higher")
    assert numbers(log.emit(e.TaskLoaded(card)), order="score") == [0, 3, 1, 4, 5, 6, 2]


@given(
    runs=st.lists(st.integers(0, 6), max_size=4),
    folded=st.sets(st.integers(0, 3)),
    text=st.sampled_from(["", "unroll", "r1", "outcome:acc", "nothing"]),
    order=st.sampled_from(ORDERS),
)
def test_every_row_is_found_where_it_stands(runs: list[int], folded: set[int], text: str, order: Any) -> None:
    state = some().state
    whole = state.runs["r1"]
    known = {f"r{n}": replace(whole, id=f"r{n}", iterations=whole.iterations[:many]) for n, many in enumerate(runs)}
    folds = {TreePosition(logs.TASK, f"r{n}"): False for n in folded}
    found = outline(replace(state, runs=known), folds, RUN, parsed(text), order)
    rows = list(found.rows)
    assert len(rows) == len(found.rows)
    assert [found.index[row.place] for row in rows] == list(range(len(rows)))
    assert [found.rows[at - len(rows)].place for at in range(len(rows))] == [row.place for row in rows]
    assert TreePosition(logs.TASK, "r0", 99) not in found.index
    assert found.matching <= found.total == sum(runs)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (28, " ★ 4 ▲ 1.166× ±0.009        2m"),
        (36, " ★ 4 ▲ 1.166× ±0.009     324.5   2m"),
        (50, "sweep"),
        (60, "accepted"),
    ],
)
def test_a_row_has_as_many_columns_as_there_is_room_for(width: int, shown: str) -> None:
    view = view_of(some())
    view = replace(view, now=view.state.at + 120)
    row = next(row for row in view.outline.rows if row.place.iteration == 4)
    text = row_line(view, row, width).plain
    assert len(text) == width
    assert " ".join(shown.split()) in " ".join(text.split())
    assert "1.166× ±0.009" in text


def test_every_row_fits_whatever_it_shows() -> None:
    log = some().at_step(7, "build", "PREFETCH=64", parent=4)
    wild = replace(log.state.runs["r1"].iterations[3], number=8, agent="x" * 90, score=1e-300, started=-1e300)
    state = log.state
    run = replace(state.runs["r1"], iterations=(*state.runs["r1"].iterations, _with_gain(wild, 1e9)))
    view = replace(view_of(log), state=replace(state, runs={"r1": run}))
    view = replace(view, outline=outline(view.state, {}, RUN))
    for width in (20, 28, 36, 50, 80):
        assert all(row_line(view, row, width).cell_length <= width for row in view.outline.rows)


def _with_gain(it: Iteration, by: float) -> Iteration:
    assert it.verdict is not None
    gain = replace(it.verdict.gain, pct=by, low=-by, high=by)
    return replace(it, verdict=replace(it.verdict, gain=gain))


# ── keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_filter_is_typed_shown_with_its_count_and_cleared() -> None:
    app = app_on(CannedFeed(logs.some()), filters={"t": "tile"})
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("down", "slash", *"@t", "enter")
        await settled(pilot)
        assert app.view.at == TreePosition(logs.TASK, "r1", 3), "the selection is among what is shown"
        assert "@t  1 of 6 iterations" in app.query_one("#prompt", Lines).lines[0].plain
        app.change(filter="tile")
        await settled(pilot)
        assert "tile  1 of 6 iterations  esc clears it" in app.query_one("#prompt", Lines).lines[0].plain
        await pilot.press("slash", *"x")
        await settled(pilot)
        assert app.view.filter == "tilex", "what is typed holds at once"
        assert "None of 6 iterations" in " ".join(line.plain for line in app.query_one("#tree", Lines).lines)
        await pilot.press("escape")
        await settled(pilot)
        assert app.view.filter == "tile"
        await pilot.press("escape")
        await settled(pilot)
        assert app.view.filter == ""
        await pilot.press("o", "o")
        await settled(pilot)
        assert app.view.order == "score"
        assert "by score" in app.query_one("#prompt", Lines).lines[0].plain
        await pilot.press("6", "slash", *"tile", "escape")
        await settled(pilot)
        assert app.view.find == "", "the keyboard is on the left: that was the filter"
        await pilot.press("tab", "slash", *"step", "enter")
        await settled(pilot)
        assert (app.view.find, app.view.filter) == ("step", "")
        await pilot.press("escape")
        assert app.view.find == ""


async def test_two_iterations_are_marked_and_compared() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("down", "down", "v", "up", "up", "V")
        await settled(pilot)
        assert (app.view.tab, app.view.against, app.view.mark) == ("diff", "mark", TreePosition(logs.TASK, "r1", 3))
        assert ("diff", {"iteration": "r1.5", "against": "r1.3"}) in feed.queries
        assert any("◈ 3" in line.plain for line in app.query_one("#tree", Lines).lines)
        asked = []
        for _ in range(3):
            await pilot.press("i")
            await settled(pilot)
            asked.append((app.view.against, feed.queries[-1][1].get("against")))
        assert [side for side, _ in asked] == ["parent", "baseline", "mark"]
        assert asked[1][1] == "r1.0"
        await pilot.press("w")
        assert app.view.split
        await pilot.press("down", "down", "v", "i")
        await settled(pilot)
        assert (app.view.mark, app.view.against) == (None, "baseline"), "without a mark it is not among the sides"
    assert feed.commands == []


async def test_tabs_and_acts_are_clicked() -> None:
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        bar = app.query_one("#tabs", Lines).lines[0].plain
        await pilot.click("#tabs", offset=(bar.index("Diff") + 1, 0))
        await settled(pilot)
        assert app.view.tab == "diff"
        footer = app.query_one("#footer", Lines).lines[0].plain
        await pilot.click("#footer", offset=(footer.index("help") + 1, 0))
        await settled(pilot)
        assert len(app.screen_stack) == 2
        await type_keys(pilot, ["escape"])
