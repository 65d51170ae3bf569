"""The screens as pictures, each once. `make snapshots` draws them anew after a wanted change; look at them before
committing. What they do not show is asserted in words, see test_tui_screens.py.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kpd.model import events as e
from kpd.model.causes import Flagged
from kpd.model.flags import Calls, Executes
from kpd.model.kinds import Told
from kpd.subscription import NoDaemon
from kpd.workspace.config import TuiConfig
from tests.support.tui import agents, gpu, logs, many_hosts, sessions
from tests.support.tui.feed import CannedFeed, app_on, settled
from tui.app import KpdApp
from tui.model.feed import Feed

SMALL, LARGE, WIDE = (80, 24), (120, 36), (200, 50)
DARK, LIGHT = "kpd-dark", "kpd-light"
MOST = 22
PICTURES = Path(__file__).parent / "__snapshots__"
Compare = Callable[..., bool]


def keys(*pressed: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Wait for the screen, press, wait again: a picture never shows something half done."""

    async def before(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in pressed:
            await pilot.press(key)
            await settled(pilot)

    return before


def review() -> logs.Log:
    """A candidate that waits for a person."""
    log = logs.some().begin(6, parent=4).steps("r1", 6, *logs.proposed("r1", 6, "UNROLL=16 with -O3")[:2])
    log.emit(e.StepStarted("r1", 6, "review")).emit(e.ReviewAsked("r1", 6))
    return log.emit(e.RunWaits("r1", Told("waiting for your approval of r1.6")))


def held_winner() -> logs.Log:
    """A winner whose object reads a clock: it waits, and the run goes on."""
    log = logs.some().begin(6, parent=4)
    verdict, clock = logs.verdict_of("faster", 9.7), (Calls("clock_gettime"), Executes("rdtsc", "clock"))
    facts = (*logs.proposed("r1", 6, "UNROLL=16, and only as many rounds as there is time for"),)
    log.steps("r1", 6, *facts, *logs.measured("r1", 6, 293.0, 324.5, verdict)[:2])
    log.steps("r1", 6, e.Judged("r1", 6, 0.02, 0.02, verdict, flags=clock)).end(6, "held", Flagged(verdict, clock))
    return log.at_step(7, "time", "VECTOR=16", parent=4)


SCREENS = [
    pytest.param(logs.running, SMALL, (), DARK, id="overview_small"),
    pytest.param(gpu.transposed, LARGE, (), LIGHT, id="overview_large"),
    pytest.param(agents.claude, LARGE, ("left",), DARK, id="run_large"),
    pytest.param(gpu.transposed, LARGE, ("2",), DARK, id="metrics_large"),
    pytest.param(gpu.transposed, LARGE, ("3",), DARK, id="rules_large"),
    pytest.param(logs.some, SMALL, ("4", "down"), DARK, id="diff_small"),
    pytest.param(logs.some, LARGE, ("4", "down", "z", "w"), LIGHT, id="diff_large"),
    pytest.param(agents.claude, LARGE, ("5", "down", "down"), LIGHT, id="memo_large"),
    pytest.param(logs.edited, SMALL, ("6",), DARK, id="log_small"),
    pytest.param(many_hosts.healthy, SMALL, ("7",), DARK, id="hosts_small"),
    pytest.param(many_hosts.eight, LARGE, ("7",), LIGHT, id="hosts_large"),
    pytest.param(review, LARGE, (), DARK, id="review_large"),
    pytest.param(held_winner, SMALL, ("down",), DARK, id="held_small"),
    pytest.param(held_winner, WIDE, ("down",), DARK, id="held_wide"),
    pytest.param(logs.running, SMALL, ("question_mark",), DARK, id="help_small"),
    pytest.param(logs.running, LARGE, ("ctrl+p",), DARK, id="palette_large"),
    pytest.param(logs.running, SMALL, ("S",), LIGHT, id="question_small"),
    pytest.param(logs.empty, SMALL, (), LIGHT, id="empty_small"),
]


@pytest.mark.parametrize(("log", "size", "pressed", "theme"), SCREENS)
def test_screen(
    snap_compare: Compare,
    log: Callable[[], logs.Log],
    size: tuple[int, int],
    pressed: tuple[str, ...],
    theme: str,
) -> None:
    app = app_on(CannedFeed(log()), theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize(("size", "pressed"), [(LARGE, ("6",)), (SMALL, ("U",))], ids=["log_large", "tools_small"])
def test_session(snap_compare: Compare, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    app = app_on(sessions.with_its_words(sessions.at_work()), theme=DARK)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


def test_read_only(snap_compare: Compare) -> None:
    app = app_on(CannedFeed(logs.held()), read_only=True, theme=DARK)
    assert snap_compare(app, terminal_size=SMALL, run_before=keys("p"))


def test_the_link_is_down(snap_compare: Compare) -> None:
    feed = CannedFeed(logs.running())
    feeds: list[Feed] = [feed]

    async def connect() -> Feed:
        if not feeds:
            raise NoDaemon()
        return feeds.pop()

    app = KpdApp(connect, "kernels", TuiConfig(theme=LIGHT, refresh_hz=200.0), zone=UTC, first_wait=0.01)

    async def cut(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        feed.push(NoDaemon())
        while app.view.link.state != "down":
            await pilot.pause()
        await settled(pilot)

    assert snap_compare(app, terminal_size=LARGE, run_before=cut)


def test_there_are_few_pictures_and_none_that_no_test_compares() -> None:
    kept = sorted(path.name for path in PICTURES.rglob("*.svg"))
    wanted = [f"test_screen[{screen.id}].svg" for screen in SCREENS] + [
        "test_read_only.svg",
        "test_session[log_large].svg",
        "test_session[tools_small].svg",
        "test_the_link_is_down.svg",
    ]
    assert kept == sorted(wanted)
    assert len(kept) <= MOST
