"""A new run from the screen: its terms are typed, it is followed, and a note that came too late can go with it."""

from typing import Any

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Stopped
from kpd.subscription import DaemonError
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.typing_keys import at_once, words
from tui.model.outline import TreePosition


def queueing(feed: CannedFeed) -> Any:
    def take(verb: str, args: dict[str, Any]) -> dict[str, Any]:
        if verb == "run":
            feed.play([e.RunQueued("r2", args["task"], "sweep", "local", Budget(), "op")])
            return {"run": "r2"}
        return {"run": "r2", "note": 1}

    return take


async def test_the_new_run_is_followed_though_another_one_is_under_way() -> None:
    feed = CannedFeed(logs.running())
    feed.on_command = queueing(feed)
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "n\r")
        await settled(pilot)
        assert feed.commands == [("run", {"task": logs.TASK})]
        assert app.view.at == TreePosition(logs.TASK, "r2")
        feed.play([e.RunEnded("r1", "stopped", Stopped("op"))])
        feed.log.run("r2").baseline("r2") if "r2" not in feed.log.state.runs else feed.log.baseline("r2")
        feed.push(feed.log.state)
        await settled(pilot)
        assert app.view.at == TreePosition(logs.TASK, "r2", 0)


async def test_a_note_for_a_run_that_has_ended_is_offered_to_a_new_one() -> None:
    feed = CannedFeed(logs.ended())
    feed.on_command = queueing(feed)
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "stry VEC=8")
        await settled(pilot)
        assert "r1 has ended: a new run can have your note" in words(app)
        await at_once(pilot, "\r")
        await settled(pilot)
    assert feed.commands == [("run", {"task": logs.TASK}), ("steer", {"run": "r2", "text": "try VEC=8"})]


async def test_a_host_that_is_not_known_leaves_the_form_with_what_was_typed() -> None:
    feed = CannedFeed(logs.no_runs(), {"run": DaemonError("unknown", "no host is called gpu9", "local")})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "n↓gpu9\r")
        await settled(pilot)
        assert "no host is called gpu9" in words(app)
        feed.refuse.clear()
        await at_once(pilot, "\r")
        await settled(pilot)
    assert [args.get("host") for _, args in feed.commands] == ["gpu9", "gpu9"]


async def test_a_form_is_copied_as_the_command_that_does_the_same() -> None:
    feed = CannedFeed(logs.no_runs())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await at_once(pilot, "n↓gpu 1↓3")
        await pilot.press("ctrl+e")
        await settled(pilot)
        assert app.clipboard == f"kpd run {logs.TASK} '--host=gpu 1' --iterations=3"
        assert app.view.said is not None
        assert app.clipboard in app.view.said.text
    assert feed.commands == []


async def test_what_was_done_last_is_copied_as_a_command_and_before_that_what_is_looked_at() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+e")
        assert app.clipboard == "kpd show r1.6"
        await pilot.press("4", "ctrl+e")
        assert app.clipboard == "kpd diff r1.6"
        await pilot.press("p")
        await settled(pilot)
        await pilot.press("ctrl+e")
        assert app.clipboard == "kpd pause r1"
