"""What opens over the board under the mouse: hints, rows and notes are clicked, and beside them nothing is."""

import pytest

from tests.support.tui import gpu, logs, many_hosts
from tests.support.tui.drawn import rows
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.mouse import LARGE, SMALL, STOP, TRUST, click, drag, drawn_at, use
from tui.actions.confirm import Confirmation
from tui.app import KpdApp
from tui.model.selected import findings
from tui.panes import rules
from tui.screens.dialog import Dialog
from tui.screens.form import ChoiceScreen
from tui.screens.question import QuestionScreen
from tui.screens.reader import ReadingScreen
from tui.widgets.lines import Lines
from tui.widgets.pane import RulesPane


async def test_what_is_typed_to_filter_is_kept_or_not_by_a_click() -> None:
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await use(pilot, ["slash", "type:unroll", "click:⏎ keep", "slash", "type: x", "click:esc back"])
    assert app.view.filter == "unroll"


async def test_of_a_hint_that_is_cut_off_only_what_is_whole_is_clicked() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(34, 24)) as pilot:
        await settled(pilot)
        await use(pilot, ["S", "click:n or"])
        assert isinstance(app.screen, QuestionScreen)
        await use(pilot, [f"click:{STOP}"])
    assert feed.commands == [("stop", {"run": "r1"})]


async def test_a_title_that_reads_like_the_hint_is_none() -> None:
    app = app_on(CannedFeed(logs.running()))
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        app.push_screen(QuestionScreen(Confirmation("y stop", (), "stop")))
        await settled(pilot)
        y = next(y for y, row in enumerate(rows(app)) if "y stop" in row)
        await click(pilot, (rows(app)[y].index("y stop"), y))
        assert isinstance(app.screen, QuestionScreen)


async def test_the_rest_of_a_double_click_does_not_answer_what_its_first_has_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The palette is scrolled until its line for trust lies where the question will have its yes."""
    monkeypatch.setattr(KpdApp, "CLICK_CHAIN_TIME_THRESHOLD", 60.0)  # however slow this machine is
    feed = CannedFeed(many_hosts.troubled())
    app = app_on(feed)
    async with app.run_test(size=LARGE) as pilot:
        await settled(pilot)
        await use(pilot, ["7", "T"])
        cell = drawn_at(pilot, TRUST)
        await use(pilot, ["escape", "ctrl+p"])
        assert isinstance(app.screen, Dialog)
        body = app.screen.body
        nth = next(nth for nth, line in enumerate(body.lines) if line.plain.startswith("T "))
        body.scroll_to(y=nth + body.region.y - cell[1], animate=False, force=True)
        await settled(pilot)
        assert "T     trust" in rows(app)[cell[1]]
        for _ in range(2):
            await drag(pilot, cell, cell)
            assert isinstance(app.screen, QuestionScreen)
        assert feed.commands == []
        await use(pilot, [f"click:{TRUST}"])
    assert [verb for verb, _ in feed.commands] == ["trust"]


async def test_to_mark_text_takes_no_line_of_it() -> None:
    app = app_on(CannedFeed(logs.running()))
    async with app.run_test(size=LARGE) as pilot:
        await settled(pilot)
        await use(pilot, ["ctrl+p"])
        top = app.screen.query_one(Lines).region.y
        await drag(pilot, (30, top), (50, top + 4))
        assert app.screen.get_selected_text()
        assert len(app.screen_stack) == 2


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_line_is_chosen_by_a_click_and_none_below_the_last() -> None:
    app = app_on(CannedFeed(logs.running()))
    taken: list[str | None] = []
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        for steps in (["click:build.json"], ["down", "click:⏎ take it"], ["click:esc leave it"]):
            app.push_screen(ChoiceScreen("Which?", ("kernel.c", "build.json")), taken.append)
            await settled(pilot)
            await use(pilot, steps)
    assert taken == ["build.json", "build.json", None]


async def test_a_line_of_the_palette_is_the_one_in_sight_after_scrolling() -> None:
    app = app_on(CannedFeed(logs.running()))
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await use(pilot, ["ctrl+p"])
        assert isinstance(app.screen, Dialog)
        app.screen.body.scroll_end(animate=False)
        await settled(pilot)
        await use(pilot, ["click:all keys"])
        assert isinstance(app.screen, ReadingScreen)


async def test_a_finding_is_chosen_by_a_click_and_the_chosen_one_opens_its_skill() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await use(pilot, ["3", "click:not_vectorised"])
        assert app.board.chosen_finding == 1
        assert len(app.screen_stack) == 1
        x, y = drawn_at(pilot, "not_vectorised")
        await click(pilot, (x, y + 1))
        await settled(pilot)
        assert "Root causes" in " ".join(line.plain for line in app.screen.query_one(Lines).lines)
        await use(pilot, ["click:esc close"])
        assert len(app.screen_stack) == 1
        await drag(pilot, (x, y - 1), (x, y))
        assert app.screen.get_selected_text()
        assert (app.board.chosen_finding, len(app.screen_stack)) == (1, 1)
    assert [asked for asked in feed.queries if asked[0] == "skill"] == [("skill", {"id": "not_vectorised"})]


async def test_each_line_of_a_finding_is_its_own() -> None:
    app = app_on(CannedFeed(gpu.transposed()))
    async with app.run_test(size=LARGE) as pilot:
        await settled(pilot)
        await use(pilot, ["3"])
        width = app.query_one(RulesPane).room.width
        of = [rules.finding_at(app.view, width, y) for y in range(len(app.query_one(RulesPane).lines))]
        for nth in range(len(findings(app.view))):
            top, height = rules.span(app.view, width, nth)
            assert [y for y, found in enumerate(of) if found == nth] == list(range(top, top + height))


async def test_without_findings_there_is_nothing_to_click() -> None:
    app = app_on(CannedFeed(logs.no_runs()))
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await use(pilot, ["3"])
        await pilot.click(RulesPane, offset=(5, 1))
        await settled(pilot)
        assert len(app.screen_stack) == 1
