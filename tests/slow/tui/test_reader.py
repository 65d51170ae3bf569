"""The help and the palette while they are open, and on a narrow screen: what cannot be done now, and why."""

import pytest

from kpd.model import events as e
from kpd.model.waits import PausedBy
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.views import plain, view_of
from tui.actions.action import reason
from tui.actions.table import BY_ID
from tui.screens.dialog import Dialog
from tui.screens.reader import help_lines


@pytest.mark.parametrize("key", ["question_mark", "colon"])
async def test_what_is_open_follows_what_can_be_done(key: str) -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(120, 60)) as pilot:
        await settled(pilot)
        why = reason(BY_ID["resume"], app.view)
        await pilot.press(key)
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, Dialog)
        assert f"not now: {why}" in plain(screen.body.lines)
        feed.play([e.RunPaused("r1", PausedBy("op"), "op")])
        await settled(pilot)
        assert why not in plain(screen.body.lines)


async def test_the_palette_keeps_what_was_chosen_in_it_when_there_are_news() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(120, 60)) as pilot:
        await settled(pilot)
        await pilot.press("colon", "down", "down")
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, Dialog)
        assert screen.body.cursor == 2
        feed.play([e.RunPaused("r1", PausedBy("op"), "op")])
        await settled(pilot)
        assert screen.body.cursor == 2


@pytest.mark.parametrize("width", [40, 75, 85])
def test_why_a_whole_group_cannot_be_used_is_never_cut(width: int) -> None:
    view = view_of(logs.running(), read_only=True)
    lines = help_lines(view, width)
    assert all(one.cell_length <= width for one in lines if "not now" in one.plain)
    text = " ".join(plain(lines).split())
    assert text.count(f"not now: {reason(BY_ID['pause'], view)}") > 1
