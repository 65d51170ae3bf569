"""Presses keys in a cockpit, and what its daemon was told."""

from collections.abc import Iterable
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tui.app import KpdApp

Commands = list[tuple[str, dict[str, Any]]]


async def press(log: logs.Log, *keys: str, **given: Any) -> tuple[KpdApp, CannedFeed]:
    """The app after `keys` on a log; `type:…` types text."""
    feed = CannedFeed(log, given.pop("refuse", None))
    feed.on_command = given.pop("on_command", feed.on_command)
    app = app_on(feed, **given)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await type_keys(pilot, keys)
        await settled(pilot)
    return app, feed


async def keys_become(log: logs.Log, acts: Iterable[tuple[list[str], Commands]]) -> None:
    """Press each row's keys in one cockpit, and compare what its daemon was told."""
    feed = CannedFeed(log)
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for keys, commands in acts:
            feed.commands.clear()
            await type_keys(pilot, keys)
            await settled(pilot)
            assert (keys, feed.commands) == (keys, commands)
            assert len(app.screen_stack) == 1


async def type_keys(pilot: Pilot[Any], keys: Iterable[str]) -> None:
    for key in keys:
        if key.startswith("type:"):
            field = pilot.app.focused
            assert isinstance(field, Input)
            field.insert_text_at_cursor(key.removeprefix("type:"))
        else:
            await pilot.press(key)


STEER_2 = logs.paused().state.runs["r1"].steering[1].text + " please"
