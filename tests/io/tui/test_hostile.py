"""Whatever agents, programs and operators write, no pane breaks: each row has its width, nothing raw gets out."""

from dataclasses import replace

import pytest

from kpd.model import events as e
from kpd.subscription import Live
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.hostile import CONTROL, EMOJI, MARKUP, MEGABYTES, SIZE, run_with, screen
from tui.model.outline import TreePosition
from tui.model.view import TABS
from tui.widgets.pane import LogPane

# ── what must still be there ──────────────────────────────────────────────────────────────────────────────────────


async def test_markup_in_a_memo_is_text_and_no_link() -> None:
    feed = CannedFeed(run_with(MARKUP))
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("5")
        await settled(pilot)
        rows = screen(app)
        assert any("[@click=app.quit]quit[/]" in row for row in rows)
        y = next(nth for nth, row in enumerate(rows) if "[@click=app.quit]" in row)
        await pilot.click(offset=(rows[y].index("quit"), y))
        await settled(pilot)
        assert app.is_running


async def test_a_log_of_ten_megabyte_lines_says_what_is_left_out_and_can_be_searched() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await pilot.press("6", "tab")
        feed.push(Live("job", "r1", 6, f"begin {MEGABYTES}\nneedle\n"))
        await settled(pilot)
        assert any("more characters" in row for row in screen(app))
        app.change(find="needle")
        await settled(pilot)
        assert app.query_one(LogPane).foot is not None
        assert any("1 of 1 line" in row for row in screen(app))


async def test_names_of_hosts_tasks_and_files_are_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = CannedFeed(logs.some())
    name = f"a\nb\r\n{CONTROL}{EMOJI}"
    card = replace(feed.log.state.tasks[logs.TASK], name=name, summary=name, editable=(name,), error=name)
    feed.log.emit(e.TaskLoaded(card))
    app = app_on(CannedFeed(feed.log))
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        app.change(at=TreePosition(name), following=False)
        for tab in range(1, len(TABS) + 1):
            await pilot.press(str(tab))
            await settled(pilot)
            screen(app)
