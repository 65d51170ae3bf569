"""The UI under the operator's hands: keys pressed, commands that arrive at the daemon."""

from typing import Any

import pytest
from textual.widgets import Input

from kpd.model import events as e
from kpd.subscription import DaemonError
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.pressing import STEER_2, Commands, keys_become, press
from tui.model.outline import TreePosition
from tui.widgets.lines import Lines

RUNNING: list[tuple[list[str], Commands]] = [
    (["p"], [("pause", {"run": "r1"})]),
    (["x", "n"], []),
    (["x", "y"], [("skip", {"run": "r1"})]),
    (["S", "n"], []),
    (["S", "escape"], []),
    (["S", "y"], [("stop", {"run": "r1"})]),
    (["s", "type:try -O3", "enter", "escape"], [("steer", {"run": "r1", "text": "try -O3"})]),
    (["question_mark", "p", "escape"], []),
    (["ctrl+p", "type:pause", "enter"], [("pause", {"run": "r1"})]),
    (["ctrl+p", "type:no such act", "enter", "escape"], []),
]
MEASURED: list[tuple[list[str], Commands]] = [
    (["a", "escape"], []),
    (["a", "enter", "enter", "n"], []),
    (["a", "enter", "y"], [("accept", {"iteration": "r1.5", "reason": ""})]),
    (["a", "type:the wide row", "enter", "y"], [("accept", {"iteration": "r1.5", "reason": "the wide row"})]),
    (["m", "enter", "escape"], []),
    (["m", "type:further ahead", "enter"], [("memo", {"iteration": "r1.5", "text": "further ahead"})]),
    (["down", "down", "down", "down", "b", "y"], [("rollback", {"iteration": "r1.1"})]),
]
PAUSED: list[tuple[list[str], Commands]] = [
    (["r"], [("resume", {"run": "r1"})]),
    (["s", "ctrl+d", "escape"], []),
    (["s", "up", "type: please", "enter", "escape"], [("steer", {"run": "r1", "text": STEER_2, "note": 2})]),
    (["s", "up", "up", "ctrl+d", "escape"], [("steer", {"run": "r1", "text": "", "note": 1})]),
]
IDLE: list[tuple[list[str], Commands]] = [
    (["n", "enter"], [("run", {"task": logs.TASK})]),
    (
        ["n", "type:claude", "down", "type:local", "down", "type:3", "down", "down", "type:2.5", "enter"],
        [("run", {"task": logs.TASK, "agent": "claude", "host": "local", "iterations": 3, "usd": 2.5})],
    ),
    (["down", "n", "enter"], [("run", {"task": "transpose_cpu"})]),
]
EDITED: list[tuple[list[str], Commands]] = [
    (["m", "type:by hand", "enter"], [("memo", {"iteration": "r1.6", "text": "by hand"})])
]


@pytest.mark.parametrize(
    ("log", "acts"),
    [
        (logs.running(), RUNNING), (logs.some(), MEASURED), (logs.paused(), PAUSED), (logs.no_runs(), IDLE),
        (logs.edited(), EDITED), (logs.held(), [(["r"], [("resume", {})])]),
    ],
    ids=["running", "measured", "paused", "idle", "edited", "held"],
)  # fmt: skip
async def test_keys_become_commands(log: logs.Log, acts: list[tuple[list[str], Commands]]) -> None:
    await keys_become(log, acts)


async def test_a_read_only_screen_sends_nothing_and_says_why() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed, read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for key in "psxSnm":
            await pilot.press(key)
            assert app.view.said is not None
            assert "read-only" in app.view.said.text
            await pilot.press("escape")
        await pilot.press("down")
        assert app.view.said is None, "the word on the last act goes with the next move"
        assert "read-only" in app.query_one("#header", Lines).lines[0].plain
    assert feed.commands == []


async def test_an_act_that_cannot_be_taken_says_why() -> None:
    app, feed = await press(logs.running(), "r")
    assert feed.commands == []
    assert app.view.said is not None
    assert app.view.said.text == "resume: r1 is not paused"


async def test_a_refusal_is_shown_with_its_remedy() -> None:
    refused = DaemonError("refused", "r1 is about to end", "wait for the next run")
    app, _ = await press(logs.running(), "p", refuse={"pause": refused})
    assert app.view.said is not None
    assert not app.view.said.good
    assert app.view.said.text == "pause: r1 is about to end; wait for the next run"


async def test_what_was_done_is_said() -> None:
    app, _ = await press(logs.no_runs(), "n", "enter", on_command=lambda verb, args: {"run": "r7"})
    assert app.view.said is not None
    assert app.view.said.text == f"{logs.TASK} is queued as r7"


async def test_a_rollback_over_an_edit_is_asked_for_again_and_then_forced() -> None:
    refuse = {"rollback": DaemonError("refused", "kernel.c was edited since", "measure it first")}
    keys = ["down"] * 4 + ["b", "y"]
    _, feed = await press(logs.some(), *keys, "escape", refuse=refuse)
    assert feed.commands == [("rollback", {"iteration": "r1.1"})]
    _, feed = await press(logs.some(), *keys, "y", refuse=refuse)
    assert feed.commands[1:] == [("rollback", {"iteration": "r1.1", "force": True})]


async def test_a_rollback_shows_which_files_change() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*["down"] * 5)
        await settled(pilot)
        await pilot.press("b")
        await settled(pilot)
        text = " ".join(line.plain for line in app.screen.query_one(Lines).lines)
    assert "Written to the task folder: kernel.c." in text
    assert "The same in both: build.json." in text
    assert "2 later accepted iterations" in text


async def test_the_steering_queue_follows_what_the_daemon_says() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)

    def take(verb: str, args: dict[str, Any]) -> dict[str, int]:
        feed.play([e.Steered("r1", 3, args["text"], "op")])
        return {"note": 3}

    feed.on_command = take
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("s", *"shorter", "enter")
        await settled(pilot)
        text = " ".join(line.plain for line in app.screen.query_one(Lines).lines)
        assert "queued" in text
        assert "shorter" in text
        assert app.screen.query_one(Input).value == ""
        feed.play([e.SteeringConsumed("r1", (3,), 7)])
        await settled(pilot)
        text = " ".join(line.plain for line in app.screen.query_one(Lines).lines)
    assert "given to r1.7" in text


async def test_keys_can_be_changed_by_the_actions_id() -> None:
    _, feed = await press(logs.running(), "p", "f8", keys={"pause": "f8"})
    assert feed.commands == [("pause", {"run": "r1"})]


async def test_an_unknown_action_or_theme_in_the_config_is_named() -> None:
    app, _ = await press(logs.running(), keys={"puase": "f8"})
    assert app.view.said is not None
    assert "'puase'" in app.view.said.text
    app, _ = await press(logs.running(), theme="mauve")
    assert app.view.said is not None
    assert "kpd-light" in app.view.said.text


async def test_enter_on_a_finding_opens_its_skill() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("3", "tab", "down", "enter")
        await settled(pilot)
        text = " ".join(line.plain for line in app.screen.query_one(Lines).lines)
        assert "Root causes" in text
        await pilot.press("escape")
        assert len(app.screen_stack) == 1
    assert ("skill", {"id": "not_vectorised"}) in feed.queries


async def test_detaching_leaves_the_daemon_alone_and_says_so() -> None:
    app, feed = await press(logs.running(), "q")
    assert app.return_value == 0
    assert feed.commands == []


async def test_textuals_own_way_out_is_the_same() -> None:
    app, _ = await press(logs.empty(), "ctrl+q")
    assert app.return_value == 0


async def test_tabs_zoom_and_focus() -> None:
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        seen = []
        for key in ("right_square_bracket", "4", "left_square_bracket", "7", "right_square_bracket"):
            await pilot.press(key)
            await settled(pilot)
            seen.append(app.view.tab)
        assert seen == ["metrics", "diff", "rules", "hosts", "overview"]
        await pilot.press("tab")
        assert app.focused is not None
        assert app.focused.id == "overview"
        await pilot.press("2")
        assert app.focused.id == "metrics"
        await pilot.press("z")
        assert not app.query_one("#left").display
        await pilot.press("z", "right")
        await pilot.pause()
        assert app.query_one("#left").display


async def test_the_left_pane_folds_and_goes_up() -> None:
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("left")
        await settled(pilot)
        assert app.view.at == TreePosition(logs.TASK, "r1")
        await pilot.press("left")
        await settled(pilot)
        assert TreePosition(logs.TASK, "r1", 5) not in app.view.outline.index
        await pilot.press("enter", "home")
        await settled(pilot)
        assert TreePosition(logs.TASK, "r1", 5) in app.view.outline.index
        assert app.view.at == TreePosition(logs.TASK)
        await pilot.click("#tree", offset=(4, 4))
        await settled(pilot)
        assert app.view.at == TreePosition(logs.TASK, "r1", 3)
        await pilot.click("#footer", offset=(4, 0))
        await settled(pilot)
