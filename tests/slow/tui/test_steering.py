"""The steering box: notes in the making, while others are looked at, consumed, on their way, or refused."""

import asyncio
from typing import Any

from kpd.model import events as e
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.typing_keys import REFUSED, at_once, typed, words
from tui.screens.question import QuestionScreen
from tui.screens.steering import SteeringScreen


class FrozenFeed(CannedFeed):
    """A daemon that answers commands only when it is thawed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.thawed = asyncio.Event()

    async def command(self, verb: str, **args: Any) -> Any:
        answer = None
        try:
            answer = await super().command(verb, **args)
        finally:
            await self.thawed.wait()
        return answer


async def test_a_note_that_is_consumed_while_it_is_changed_becomes_the_draft_of_a_new_one() -> None:
    feed = CannedFeed(logs.paused())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "sdraft")
        await pilot.press("up", "!")
        changed = typed(app)
        feed.play([e.SteeringConsumed("r1", (1, 2), 7)])
        await settled(pilot)
        assert typed(app) == f"{changed} draft"
        assert "note 2 is queued no more: what you wrote for it is kept as a new note" in words(app)
        await pilot.press("enter")
        await settled(pilot)
    assert feed.commands == [("steer", {"run": "r1", "text": f"{changed} draft"})]


async def test_what_is_typed_is_kept_for_each_note_while_others_are_looked_at() -> None:
    app = app_on(CannedFeed(logs.paused()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "sdraft")
        seen = []
        for key in ("up", "!", "up", "down", "down"):
            await pilot.press(key)
            await settled(pilot)
            seen.append(typed(app))
        second, changed, first, again, last = seen
        assert changed == again == second + "!"
        assert first not in (changed, second)
        assert last == "draft"


async def test_notes_sent_faster_than_the_daemon_takes_them_stay_apart() -> None:
    feed = FrozenFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "sfirst note\rsecond note\rthird")
        assert typed(app) == "third"
        assert [args["text"] for _, args in feed.commands] == ["first note", "second note"]
        feed.thawed.set()
        await settled(pilot)
        assert typed(app) == "third"


async def test_a_refused_note_comes_back_before_what_was_typed_meanwhile() -> None:
    feed = FrozenFeed(logs.running(), {"steer": REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "sfirst note\rsecond")
        assert typed(app) == "second"
        feed.thawed.set()
        await settled(pilot)
        assert typed(app) == "first note second"
        assert "r1 is about to end" in words(app)


async def test_a_refused_change_of_a_note_is_found_at_that_note() -> None:
    feed = FrozenFeed(logs.paused(), {"steer": REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("s", "up", "!", "enter")
        changed = feed.commands[0][1]["text"]
        await at_once(pilot, "new")
        feed.thawed.set()
        await settled(pilot)
        assert typed(app) == "new", "what is being typed is not taken away"
        await pilot.press("up")
        assert typed(app) == changed


async def test_the_box_is_alive_while_the_daemon_does_not_answer() -> None:
    feed = FrozenFeed(logs.paused())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "snote\r")
        await pilot.press("up", "ctrl+d")
        assert [args.get("note") for _, args in feed.commands] == [None, 2]
        await pilot.press("escape")
        assert len(app.screen_stack) == 1
        feed.thawed.set()
        await settled(pilot)
        assert app.view.said is not None


async def test_a_note_refused_after_the_box_was_left_opens_it_again() -> None:
    feed = FrozenFeed(logs.running(), {"steer": REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "snote\r")
        await pilot.press("escape", "m", "x")
        feed.thawed.set()
        await at_once(pilot, "y")
        assert isinstance(app.screen, QuestionScreen), "not over what is being typed"
        assert typed(app) == "xy"
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(app.screen, SteeringScreen)
        assert typed(app) == "note"
        assert "r1 is about to end" in words(app)


async def test_a_refused_change_of_a_note_is_still_a_change_of_that_note_when_the_box_was_left() -> None:
    feed = FrozenFeed(logs.paused(), {"steer": REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "s")
        await pilot.press("up", "!", "enter", "escape")
        feed.thawed.set()
        await settled(pilot)
        assert isinstance(app.screen, SteeringScreen)
        assert typed(app).endswith("!")
        await pilot.press("enter")
        await settled(pilot)
    assert len(feed.commands) == 2
    assert feed.commands[0] == feed.commands[1]
