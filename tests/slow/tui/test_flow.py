"""News: folded, coalesced, followed or not, lost and found again; hostile or in great numbers."""

from dataclasses import replace
from typing import Literal

import pytest

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.hosts import Check, Device, HostCard
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.profiles import Finding
from kpd.model.state import TaskCard
from kpd.subscription import Live
from tests.support.tui import logs
from tests.support.tui.boards import board
from tests.support.tui.feed import CannedFeed, app_on, settled
from tui.model.view import TABS
from tui.widgets.tree import Tree

HOSTILE = 3 * (
    "\x1b[31mred\x1b[0m [bold]x[/bold] [@click=app.quit]y[/] \x07\x00\u202e\u05e9\u05dc\u05d5\u05dd "
    "\U0001f469\u200d\U0001f467 \u65e5\u672c e\u0301\u0301 \t\r\n"
)
HOSTILE += "z" * 5000


# ── in great numbers, and hostile ─────────────────────────────────────────────────────────────────────────────────


async def test_five_thousand_iterations_are_rendered_as_a_window() -> None:
    feed = CannedFeed(logs.many(5000))
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        tree = app.query_one(Tree)
        assert len(tree.lines) == 5000 + 3
        for tab in range(1, len(TABS) + 1):
            await pilot.press(str(tab))
            await settled(pilot)
            assert "4999" in "\n".join(board(app))
        await pilot.press("1")
        await pilot.press(*["pagedown"] * 3)
        await settled(pilot)
        place = app.view.at
        assert place.iteration is not None
        assert f"{place.iteration} " in "\n".join(line[:30] for line in board(app))
        feed.play([e.IterationStarted("r1", 5000, "sweep", 0)])
        await settled(pilot)
        assert app.view.at == place


def evil_host(name: str, offered: str = "") -> HostCard:
    device = Device(HOSTILE, "gpu", HOSTILE, HOSTILE, HOSTILE, 10**12)
    states: tuple[Literal["ok", "bad", "off"], ...] = ("ok", "bad", "off")
    checks = tuple(Check(subject, state, HOSTILE, HOSTILE) for subject in ("link", HOSTILE) for state in states)
    return HostCard(
        name, HOSTILE, "down", HOSTILE, HOSTILE, -1, HOSTILE, HOSTILE, -1e300, 1e300, HOSTILE, HOSTILE, HOSTILE,
        offered, False, 1e300, (device, replace(device, id="2"), Device("", "cpu", "")), checks,
    )  # fmt: skip


def hostile() -> logs.Log:
    log = logs.some()
    log.emit(e.TaskLoaded(TaskCard("evil" + HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), error=HOSTILE)))
    log.emit(e.HostProbed(HostCard(HOSTILE, "local", error=HOSTILE)))
    log.emit(e.HostProbed(evil_host("evil", offered=HOSTILE)))
    log.emit(e.HostProbed(replace(evil_host("old" + HOSTILE), devices=(), checks=())))
    for link in ("up", "down"):
        log.emit(e.HostProbed(replace(evil_host(link), link=link, system=HOSTILE)))
    log.emit(e.RunQueued("r2", logs.TASK, HOSTILE, HOSTILE, Budget()))
    log.emit(e.RunWaits("r2", Told(HOSTILE)))
    log.emit(e.RunWaits("r1", Told(HOSTILE)))
    finding = Finding(HOSTILE, "high", HOSTILE, HOSTILE, {HOSTILE: 1e300, "gbs": -1e-300})
    log.iteration(6, HOSTILE, 1e12, "slower", parent=4, before=1e-9, agent=HOSTILE, findings=(finding,) * 3)
    log.emit(e.Steered("r1", 1, HOSTILE, HOSTILE))
    log.emit(e.Noticed("error", Said(HOSTILE)))
    return log


@pytest.mark.parametrize("size", [(140, 40), (40, 10)])
async def test_hostile_text_never_breaks_the_screen(size: tuple[int, int]) -> None:
    feed = CannedFeed(hostile())
    app = app_on(feed)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for nth in range(1, len(TABS) + 1):
            await pilot.press(str(nth))
            feed.push(Live("build" + HOSTILE, "r1", 6, HOSTILE + "\n"))
            await settled(pilot)
            text = "".join(board(app))
            assert not any(char in text for char in "\x1b\x07\x00\u202e\u200d\u0301")
        for keys in (["s"], ["m"], ["a"], ["question_mark"], ["ctrl+p"], ["home", "n"]):
            await pilot.press(*keys)
            await settled(pilot)
            board(app)
            await pilot.press("escape")
            await settled(pilot)
        await pilot.press("7")
        for key in ("home", *["down"] * 40):
            await pilot.press(key)
            await settled(pilot)
            assert not any(char in "".join(board(app)) for char in "\x1b\x07\x00\u202e\u200d\u0301")
        await pilot.press("T", "escape")
        await settled(pilot)
    assert feed.commands == []
