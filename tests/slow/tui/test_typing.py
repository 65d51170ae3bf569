"""What is typed is not lost: ahead of a box, pasted, when the daemon refuses it."""

from collections.abc import Iterable
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.typing_keys import REFUSED, at_once, typed, words
from tui.app import KpdApp
from tui.screens.dialog import Dialog
from tui.screens.form import FormScreen
from tui.screens.modal import MOST_TYPED, TextEntry
from tui.screens.question import QuestionScreen
from tui.widgets.lines import Lines


async def paste(pilot: Pilot[Any], text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await settled(pilot)


async def after(feed: CannedFeed, *packets: str) -> KpdApp:
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for packet in packets:
            await at_once(pilot, packet)
            await settled(pilot)
    return app


# ── ahead of a box ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("key", ["m", "s", "/", ":", "B"])
async def test_keys_in_one_packet_with_that_which_opens_a_box_reach_its_field_in_their_order(key: str) -> None:
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, f"{key}not yes")
        assert len(app.screen_stack) == 2
        assert typed(app).endswith("not yes")


async def test_a_note_typed_and_sent_in_one_packet_arrives() -> None:
    feed = CannedFeed(logs.running())
    await after(feed, "stry -O3\r")
    assert feed.commands == [("steer", {"run": "r1", "text": "try -O3"})]


async def outcome(keys: str, packet: bool) -> tuple[list[Any], str, list[str], list[Any]]:
    """The commands sent, the tab, the boxes that are open, and what was asked of files, after these keys."""
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for part in [keys] if packet else keys:
            await at_once(pilot, part)
            await settled(pilot)
        files = [args for what, args in feed.queries if what == "file" and args["name"].startswith("candidate/")]
        return feed.commands, app.view.tab, [type(screen).__name__ for screen in app.screen_stack], files


@pytest.mark.parametrize(
    "keys",
    [
        "B↓⌫⌫7\r", "B↓0\r", "B8⎋", ":↓↓↓↓\r", ":skip\r", "by", "bn", "s⎋", "?⎋", "sone\rtwo\r↑⌫\r", "mtext\r\r",
        "/late\r\r", "/late⎋4", "l↓", "7↓l5", "3l↓", "e↓\r",
    ],
)  # fmt: skip
async def test_keys_in_one_packet_do_what_they_do_one_by_one(keys: str) -> None:
    assert await outcome(keys, packet=True) == await outcome(keys, packet=False)


@pytest.mark.parametrize("keys", ["mtext\r", ":skip\r", "B↓0\r"])
async def test_and_what_they_do_is_something(keys: str) -> None:
    commands, _, boxes, _ = await outcome(keys, packet=True)
    assert commands or len(boxes) > 1


async def test_what_is_pasted_at_once_behind_the_key_reaches_the_field() -> None:
    app = app_on(CannedFeed(logs.running()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pilot.app.post_message(events.Key("s", "s"))
        await paste(pilot, "wider tiles")
        assert typed(app) == "wider tiles"


@pytest.mark.parametrize(("word", "kind"), [("steer", "SteeringScreen"), ("filter", "FindScreen")])
async def test_a_box_with_a_field_is_opened_by_a_click_on_the_footer_too(word: str, kind: str) -> None:
    app = app_on(CannedFeed(logs.running()))
    async with app.run_test(size=(200, 40)) as pilot:
        await settled(pilot)
        footer = app.query_one("#footer", Lines).lines[0].plain
        await pilot.click("#footer", offset=(footer.index(word) + 1, 0))
        await settled(pilot)
        assert type(app.screen).__name__ == kind


# ── pasted ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("key", ["m", "s", "slash", "B"])
async def test_the_lines_of_a_paste_are_joined_at_the_cursor(key: str) -> None:
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await settled(pilot)
        before = typed(app)
        await paste(pilot, "ac")
        await pilot.press("left")
        await paste(pilot, "line one\r\n\r\n   line two\rline three\n")
        assert typed(app) == f"{before}aline one line two line threec"


async def test_of_a_paste_over_the_limit_as_much_is_taken_as_fits_and_the_rest_is_told() -> None:
    app = app_on(CannedFeed(logs.running()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("s", "a")
        await paste(pilot, "b" * 2_500)
        assert typed(app) == "a" + "b" * (MOST_TYPED - 1)
        assert "takes 2,000 characters: 501 of what was pasted are left out" in words(app)
        await pilot.press("escape", "slash")
        await paste(pilot, "b" * 2_500)
        assert "500 too many" in str(app.screen.query_one("#among").visual)


# ── refused ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("log", "verb", "key", "text", "send"),
    [
        (logs.some(), "memo", "m", "it is wider", "\r"),
        (logs.some(), "accept", "a", "I know better", "y"),
    ],
)
async def test_what_was_typed_for_an_act_that_is_refused_still_stands_in_its_box(
    log: logs.Log, verb: str, key: str, text: str, send: str
) -> None:
    feed = CannedFeed(log, {verb: REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, f"{key}{text}\r")
        await settled(pilot)
        await at_once(pilot, send.strip())
        await settled(pilot)
        assert isinstance(app.screen, QuestionScreen)
        assert typed(app) == text
        assert "r1 is about to end; wait for the next run" in words(app)
        feed.refuse.clear()
        await at_once(pilot, send)
        await settled(pilot)
        assert len(app.screen_stack) == 1
    assert len(feed.commands) == 2
    assert feed.commands[0] == feed.commands[1]


async def test_what_was_typed_while_the_link_goes_is_not_lost_either() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "mit is wider")
        app.feed = None
        await pilot.press("enter")
        await settled(pilot)
        assert typed(app) == "it is wider"
        assert "no link to the daemon" in words(app)
        await pilot.press("escape")
        await settled(pilot)
        assert len(app.screen_stack) == 1, "escape leaves it for good"


@pytest.mark.parametrize(
    ("verb", "keys"), [("budget", ["B", "0", "down", "down", "5"]), ("agent", ["A", "x", "down", "m"])]
)
async def test_a_form_whose_values_are_refused_opens_again_with_them(verb: str, keys: Iterable[str]) -> None:
    feed = CannedFeed(logs.running(), {verb: REFUSED})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*keys)
        filled = [field.value for field in app.screen.query(TextEntry)]
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(app.screen, FormScreen)
        assert [field.value for field in app.screen.query(TextEntry)] == filled
        assert "r1 is about to end" in words(app)
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(app.screen, Dialog)
    assert len(feed.commands) == 2
    assert feed.commands[0] == feed.commands[1]
