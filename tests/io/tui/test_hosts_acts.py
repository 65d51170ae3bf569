"""The Hosts tab under the operator's hands: acts on hosts, what comes back, and going from host to host."""

import asyncio
import json
from dataclasses import replace
from typing import Any

from kpd.model import events as e
from kpd.model.codec import encode
from kpd.subscription import DaemonError
from tests.support.tui import logs, many_hosts
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.views import plain
from tui.app import KpdApp
from tui.panes import bars
from tui.widgets.hosts import HostsPane
from tui.widgets.tree import Tree


async def test_the_answer_says_how_the_host_is_now() -> None:
    feed = CannedFeed(many_hosts.troubled())
    app = app_on(feed)
    answers: list[tuple[Any, str, bool]] = [
        ({"hosts": [many_hosts.gpu_host("gpu3")]}, "gpu3 is up", True),
        ({"hosts": [many_hosts.REFUSED]}, "gpu4 is down: permission denied (publickey)", False),
        ({"cards": 3}, "cannot be read", False),
        (None, "cannot be read", False),
    ]
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for result, said, good in answers:
            feed.on_command = lambda verb, args, result=result: json.loads(encode(result))
            await pilot.press("R")
            await settled(pilot)
            assert app.view.said is not None
            assert said in app.view.said.text
            assert app.view.said.good is good


async def test_while_the_hosts_are_looked_at_the_operator_is_told_so() -> None:
    answered = asyncio.Event()

    class Slow(CannedFeed):
        async def command(self, verb: str, **args: Any) -> Any:
            await answered.wait()
            return json.loads(encode({"hosts": [many_hosts.gpu_host()]}))

    app = app_on(Slow(many_hosts.troubled()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("c")
        await pilot.pause()
        assert "… check hosts: under way" in plain(bars.prompt(app.view, 80))
        answered.set()
        await settled(pilot)
        assert "✓ gpu1 is up" in plain(bars.prompt(app.view, 80))


async def test_a_key_that_is_not_offered_any_more_is_refused_in_words() -> None:
    refused = DaemonError("refused", "gpu3 offers another key now", "look at it again")
    feed = CannedFeed(many_hosts.troubled(), refuse={"trust": refused})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("T")
        feed.play([e.HostProbed(replace(many_hosts.NEW, offered="SHA256:another"))])
        await settled(pilot)
        await pilot.press("y")
        await settled(pilot)
    assert feed.commands == [("trust", {"host": "gpu3", "fingerprint": many_hosts.FINGERPRINT})], (
        "the one that was shown"
    )
    assert app.view.said is not None
    assert app.view.said.text == "trust: gpu3 offers another key now; look at it again"


async def test_the_keyboard_goes_to_the_hosts_and_comes_back() -> None:
    app = app_on(CannedFeed(many_hosts.troubled()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("7")
        await settled(pilot)
        assert isinstance(app.focused, HostsPane)
        await pilot.press("1")
        await settled(pilot)
        assert isinstance(app.focused, Tree)
        await pilot.press("tab", "7", "1")
        await settled(pilot)
        assert app.focused is not None
        assert app.focused.id == "overview", "it had not come from the left"
        await pilot.press("h", "7", "z", "1")
        await settled(pilot)
        assert app.focused is not None
        assert app.focused.id == "overview", "the left pane is folded away"
        await pilot.press("7", "z")
        await settled(pilot)
        assert isinstance(app.focused, Tree)


async def chosen_after(app: KpdApp, pilot: Any, *keys: str) -> str:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)
    return app.view.host


async def test_going_through_the_hosts_by_keys_and_by_mouse() -> None:
    feed = CannedFeed(many_hosts.sixteen())
    app = app_on(feed)
    async with app.run_test(size=(120, 50)) as pilot:
        await settled(pilot)
        assert await chosen_after(app, pilot, "7") == "gpu4", "the one that waits for a person"
        assert await chosen_after(app, pilot, "down", "j") == "gpu6"
        assert await chosen_after(app, pilot, *["up"] * 9) == "gpu1"
        hosts_pane = app.query_one(HostsPane)
        assert hosts_pane.cursor is not None
        assert "gpu1" in hosts_pane.lines[hosts_pane.cursor].plain
        row = hosts_pane._spans["gpu3"].start
        await pilot.click(HostsPane, offset=(5, row + 1))
        await settled(pilot)
        assert app.view.host == "gpu3"
        feed.play([e.HostRemoved("gpu3"), e.HostProbed(replace(many_hosts.NEW, name="gpu9"))])
        await settled(pilot)
        assert app.view.host == "gpu4"
        feed.play([e.HostProbed(replace(many_hosts.NEW, name="gpu1"))])
        await settled(pilot)
        assert app.view.host == "gpu4", "it stays while it is looked at"


async def test_a_host_longer_than_the_screen_is_scrolled_before_the_next_one_is_chosen() -> None:
    app = app_on(CannedFeed(many_hosts.sixteen()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert await chosen_after(app, pilot, "7", "down") == "gpu5"
        hosts_pane = app.query_one(HostsPane)
        span, top = hosts_pane._spans["gpu5"], hosts_pane.scroll_offset.y
        assert span.start == top
        assert span.stop > top + hosts_pane.room.height
        assert await chosen_after(app, pilot, "down") == "gpu5"
        assert span.stop == hosts_pane.scroll_offset.y + hosts_pane.room.height
        assert await chosen_after(app, pilot, "down") == "gpu6"
        assert await chosen_after(app, pilot, "up") == "gpu5"
        assert hosts_pane.scroll_offset.y == span.start


async def test_without_hosts_the_tab_says_what_will_be_there() -> None:
    log = logs.Log().emit(e.DaemonStarted("0.1.0", 4711, "/home/op/kernels"))
    app = app_on(CannedFeed(log))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("7", "up", "down", "c")
        await settled(pilot)
        assert "the daemon does it when it starts" in " ".join(plain(app.query_one(HostsPane).lines).split())
    assert app.view.said is not None
    assert app.view.said.text == "check hosts: no host is known yet"
