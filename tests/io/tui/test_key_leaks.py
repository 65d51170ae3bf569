"""What is typed for a dialog that is refused, late or closed does nothing else: every bound key is tried."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

import tui
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.typing_keys import REFUSED, at_once, typed, words
from tests.support.tui.views import view_of
from tui.actions.action import reason
from tui.actions.table import ACTIONS
from tui.app import KpdApp

BOUND = [key for action in ACTIONS for key in action.keys.split(",") if key != "escape"]
ENDED = [action for action in ACTIONS if action.reads and reason(action, view_of(logs.ended()))]
REFUSED_WHEN_ENDED = [action for action in ENDED if action.id != "steer"]
"""But for steering, which offers a new run then."""


def shown(app: KpdApp) -> tuple[Any, ...]:
    """All that a key could change."""
    view = app.view
    return view.at, view.tab, view.mark, view.against, view.filter, view.find, view.split, app.theme, app.is_running


async def press_all(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one behind the other, without a wait for each."""
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
    for _ in range(20):
        await pilot.pause()


class SlowFeed(CannedFeed):
    """Answers questions about files and skills, and commands, only when told to."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.told = asyncio.Event()

    async def query(self, what: str, **args: Any) -> Any:
        if what in ("file", "toolbox", "skill"):
            await self.told.wait()
        return await super().query(what, **args)

    async def command(self, verb: str, **args: Any) -> Any:
        self.commands.append((verb, args))
        await self.told.wait()
        if verb in self.refuse:
            raise self.refuse[verb]
        return {}


def test_dialogs_are_opened_in_one_place_only() -> None:
    folder = Path(str(tui.__file__)).parent
    pushing = {path.name for path in folder.rglob("*.py") if "push_screen(" in path.read_text()}
    assert pushing == {"opening.py"}


def test_what_reads_keys_can_be_refused_when_a_run_has_ended() -> None:
    assert {"stop", "budget", "agent", "skip", "edit"} <= {action.id for action in REFUSED_WHEN_ENDED}


async def test_a_dialog_that_is_refused_swallows_what_is_typed_for_it() -> None:
    feed = CannedFeed(logs.ended())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        before = shown(app)
        for action in REFUSED_WHEN_ENDED:
            why = reason(action, app.view)
            await press_all(pilot, action.keys.split(",")[0], *BOUND, "y", "enter")
            await settled(pilot)
            assert (action.id, shown(app)) == (action.id, before)
            assert why in words(app)
            await pilot.press("escape")
            assert len(app.screen_stack) == 1
        await at_once(pilot, "xa bigger tile, yes\ry\r")
        await settled(pilot)
    assert feed.commands == [], "a note for what is refused accepts nothing"


@pytest.mark.parametrize("keys", [("e", "enter"), ("U",)], ids=["editor", "tools"])
async def test_what_is_typed_for_a_dialog_that_is_late_is_its_own(keys: tuple[str, ...]) -> None:
    feed = SlowFeed(logs.running())
    app = app_on(feed)
    typed_for_it = [key for key in BOUND if key not in ("q", "question_mark")]  # which close a page
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        before = shown(app)
        await press_all(pilot, *keys, *typed_for_it)
        assert len(app.screen_stack) == 2
        assert shown(app) == before
        await pilot.press("escape")
        feed.told.set()
        await settled(pilot)
        assert (shown(app), len(app.screen_stack)) == (before, 1), "left, it does not open any more"
    assert feed.commands == []


async def test_what_is_typed_behind_an_answer_is_swallowed_until_it_has_arrived() -> None:
    feed = SlowFeed(logs.some(), {"memo": REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        before = shown(app)
        await at_once(pilot, "mwider tiles\r")
        await press_all(pilot, *BOUND)
        assert shown(app) == before
        feed.told.set()
        await settled(pilot)
        assert typed(app) == "wider tiles", "refused, it stands there still"
        assert "r1 is about to end" in words(app)
    assert feed.commands == [("memo", {"iteration": "r1.5", "text": "wider tiles"})]


async def test_a_second_line_in_the_packet_is_no_keys_of_the_screen_below() -> None:
    """As a terminal sends a paste that it does not mark as one."""
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        for first, verbs in (("aone line\r", []), ("/one line\r", []), ("mone line\r", ["memo"])):
            await settled(pilot)
            await at_once(pilot, f"{first}any but\ry7\ryes\r")
            await settled(pilot)
            assert (first, app.view.tab, [verb for verb, _ in feed.commands]) == (first, "overview", verbs)
            while len(app.screen_stack) > 1 or app.view.filter:
                await pilot.press("escape")


async def test_a_dialog_that_opens_by_itself_is_not_answered_by_what_was_typed_before() -> None:
    feed = SlowFeed(logs.some(), {"rollback": REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*["down"] * 4, "b", "y")
        await at_once(pilot, "yyyy")
        feed.told.set()
        await settled(pilot)
        assert "Roll back over the edit?" in str(app.screen.query_one(".box").border_title)
    assert len(feed.commands) == 1


@pytest.mark.parametrize(("key", "verb"), [("a", "accept"), ("b", "rollback")])
async def test_what_writes_the_operators_files_is_not_done_by_enter(key: str, verb: str) -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        if verb == "rollback":
            await pilot.press(*["down"] * 4)
        await pilot.press(key, "enter", "enter", "enter")
        await settled(pilot)
        assert feed.commands == []
        await pilot.press("y")
        await settled(pilot)
    assert [sent for sent, _ in feed.commands] == [verb]
