"""The UI on a recording: it says on every screen that it is one, its keys play it, and all others say why not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from kpd.model import events as e
from kpd.model.playback import Playback
from kpd.model.state import State
from kpd.workspace.config import TuiConfig
from tests.support.demo.recordings import Played, canned, played
from tests.support.tui.boards import board
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.logs import some
from tui.actions.table import ACTIONS, BY_ID, PLAYING, reason
from tui.app import KpdApp
from tui.model.feed import dialling
from tui.model.view import TABS, View
from tui.panes.playback import bar

__all__ = ["played"]

LABEL = "recording · NVIDIA H100 80GB HBM3 · 2026-11-21"
SMALL, LARGE = (80, 24), (120, 36)


@asynccontextmanager
async def on(played: Played, size: tuple[int, int] = LARGE) -> AsyncIterator[tuple[KpdApp, Pilot[int]]]:
    """The UI on the served player, at rest."""
    ready = asyncio.Event()
    serving = asyncio.create_task(played.player.serve(ready.set))
    await asyncio.wait_for(ready.wait(), 10)
    socket = played.player.stage.workspace.socket
    app = KpdApp(dialling(lambda: socket), "demo", TuiConfig(refresh_hz=200.0))
    async with app.run_test(size=size) as pilot:
        await news(app, pilot)
        yield app, pilot
    played.player.end()
    await serving


async def news(app: KpdApp, pilot: Pilot[int], seq: int = 0) -> None:
    """Until the UI shows all that had been said, and something after `seq`."""
    while app.view.state.seq <= seq:
        await pilot.pause(0.01)
    await settled(pilot)


async def press(app: KpdApp, pilot: Pilot[int], key: str) -> None:
    """Press a key that the player answers with news."""
    seq = app.view.state.seq
    await pilot.press(key)
    await news(app, pilot, seq)


def playback(app: KpdApp) -> Playback:
    found = app.view.state.playback
    assert found is not None
    return found


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_every_screen_says_that_it_is_a_recording(played: Played, size: tuple[int, int]) -> None:
    played.player.go_on(lambda fact: isinstance(fact, e.IterationEnded) and fact.iteration == 1)
    async with on(played, size) as (app, pilot):
        for number, tab in enumerate(TABS, 1):
            await pilot.press(str(number))
            await settled(pilot)
            assert app.view.tab == tab
            assert LABEL in board(app)[0]
        await pilot.press("z")
        await pilot.pause()
        assert LABEL in board(app)[0]
        for key in ("question_mark", "ctrl+p"):
            await pilot.press(key)
            await pilot.pause()
            assert LABEL in board(app)[0], key
            await pilot.press("escape")
            await pilot.pause()


async def test_its_keys_play_it(played: Played) -> None:
    async with on(played) as (app, pilot):
        await press(app, pilot, "space")
        assert playback(app).state == "paused"
        await press(app, pilot, "right_parenthesis")
        iteration = app.view.state.runs["r1"].iterations[0]
        assert iteration.memo == "baseline: the task as it is"
        assert iteration.outcome is None
        await press(app, pilot, "greater_than_sign")
        assert app.view.state.runs["r1"].iterations[0].outcome == "baseline"
        await press(app, pilot, "plus")
        assert playback(app).speed == 2
        await press(app, pilot, "minus")
        assert playback(app).speed == 1
        await pilot.press("minus")
        await pilot.pause()
        assert "1× is the slowest" in "\n".join(board(app))


async def test_from_the_beginning_nothing_of_before_is_left(played: Played) -> None:
    played.player.go_on(lambda fact: False)
    async with on(played) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        assert playback(app).state == "over"
        assert app.view.shown.events
        await pilot.press("less_than_sign")
        while app.view.state.runs:
            await pilot.pause(0.01)
        await settled(pilot)
        assert app.view.output == ()
        assert app.view.shown.events is None
        assert playback(app).state == "playing"


async def test_other_acts_say_that_it_is_a_recording(played: Played) -> None:
    played.player.go_on(lambda fact: isinstance(fact, e.IterationEnded) and fact.iteration == 1)
    async with on(played) as (app, pilot):
        seq = app.view.state.seq
        for action in ACTIONS:
            if action.pick is not None and action.group != "Recording":
                assert "recording" in reason(action, app.view), action.id
        for key in ("p", "S", "s", "n", "a", "b", "m"):
            await pilot.press(key)
            await pilot.pause()
            assert "this is a recording: it cannot be changed" in "\n".join(board(app)), key
        assert app.view.state.seq == seq


async def test_ages_and_times_are_the_recordings_own(played: Played) -> None:
    played.player.go_on(lambda fact: isinstance(fact, e.IterationEnded) and fact.iteration == 1)
    async with on(played) as (app, _):
        last = canned().events[-1]
        assert app.view.moment == app.view.state.at <= last.at


async def test_a_live_daemon_has_no_such_line_and_its_keys_say_so() -> None:
    app = app_on(CannedFeed(some()))
    async with app.run_test(size=LARGE) as pilot:
        await settled(pilot)
        assert bar(app.view, 120) == []
        assert "recording" not in "\n".join(board(app))
        await pilot.press("space")
        await settled(pilot)
        assert "this is not a recording: `kpd demo` plays one" in "\n".join(board(app))


def test_the_label_stands_at_any_width_before_all_else() -> None:
    state = State(seq=1, at=5.0, playback=Playback(*LABEL.split(" · ")[1:], 0.0, 10.0, 16, "playing"))
    for width in range(60, 200):
        line, told = bar(View(state=state), width)
        assert max(line.cell_length, told.cell_length) <= width
        assert LABEL in line.plain
    assert "restart" in bar(View(state=state), 120)[0].plain


def test_every_act_of_the_player_is_in_the_table() -> None:
    assert all(BY_ID[action.id] is action for action in PLAYING)
