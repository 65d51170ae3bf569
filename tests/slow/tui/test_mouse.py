"""What opens over the board under the mouse: hints, rows and notes are clicked, and beside them nothing is."""

from collections.abc import Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.tui import logs, many_hosts
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.mouse import SMALL, STOP, TRUST, click, drag, drawn_at, use
from tests.support.tui.pressing import STEER_2, Commands
from tui.app import KpdApp
from tui.screens.question import QuestionScreen

RUNNING: list[tuple[list[str], Commands]] = [
    (["S", f"click:{STOP}"], [("stop", {"run": "r1"})]),
    (["S", "click:n or esc leave it"], []),
    (["B", "type:0", "click:⏎ change it"], [("budget", {"run": "r1", "iterations": 80})]),
    (["B", "type:0", "click:esc leave it"], []),
    (["s", "type:try -O3", "click:⏎ send", "click:esc close"], [("steer", {"run": "r1", "text": "try -O3"})]),
    (["question_mark", "click:esc close"], []),
    (["ctrl+p", "type:pause", "click:⏎ take it"], [("pause", {"run": "r1"})]),
    (["ctrl+p", "type:pause", "click:finish the current step, then"], [("pause", {"run": "r1"})]),
    (["ctrl+p", "type:no such act", "click:No act has", "click:⏎ take it", "click:esc close"], []),
    (["slash", "type:tile", "click:esc back"], []),
    (["slash", "type:rows", "click:⏎ keep"], []),
]
MEASURED: list[tuple[list[str], Commands]] = [
    (["a", "click:esc leave it"], []),
    (
        ["a", "type:the wide row", "click:⏎ go on", "click:y accept"],
        [("accept", {"iteration": "r1.5", "reason": "the wide row"})],
    ),
    (["m", "click:⏎ keep the memo", "click:esc leave it"], []),
    ([*["down"] * 4, "b", "click:↑↓ scroll", "click:y roll back"], [("rollback", {"iteration": "r1.1"})]),
]
PAUSED: list[tuple[list[str], Commands]] = [
    (["s", "click:2  queued", "type: please", "click:⏎ send", "click:esc close"],
     [("steer", {"run": "r1", "text": STEER_2, "note": 2})]),
    (["s", "click:1  queued", "click:^d withdraw", "click:esc close"],
     [("steer", {"run": "r1", "text": "", "note": 1})]),
    (["s", "click:2  queued", "click:2  queued", "type:new", "click:⏎ send", "click:esc close"],
     [("steer", {"run": "r1", "text": "new"})]),
    (["s", "click:^d withdraw", "click:↑↓ choose a note", "click:esc close"], []),
]  # fmt: skip
IDLE: list[tuple[list[str], Commands]] = [
    (["n", "click:esc leave it"], []),
    (["n", "click:⏎ queue the run"], [("run", {"task": logs.TASK})]),
]
UNKNOWN: list[tuple[list[str], Commands]] = [
    (["7", "T", "click:n or esc leave it"], []),
    (["T", f"click:{TRUST}"], [("trust", {"host": "gpu3", "fingerprint": many_hosts.FINGERPRINT})]),
]


@pytest.mark.parametrize(
    ("log", "acts"),
    [
        (logs.running(), RUNNING), (logs.some(), MEASURED), (logs.paused(), PAUSED), (logs.no_runs(), IDLE),
        (many_hosts.troubled(), UNKNOWN),
    ],
    ids=["running", "measured", "paused", "idle", "unknown host"],
)  # fmt: skip
async def test_clicks_become_commands(log: logs.Log, acts: list[tuple[list[str], Commands]]) -> None:
    feed = CannedFeed(log)
    app = app_on(feed)
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        for steps, commands in acts:
            feed.commands.clear()
            await use(pilot, steps)
            assert (steps, feed.commands) == (steps, commands)
            assert len(app.screen_stack) == 1


# ── a click that is none ──────────────────────────────────────────────────────────────────────────────────────────


def around(pilot: Pilot[Any], text: str) -> Iterator[tuple[int, int]]:
    """The cells before and after it, above and below its middle, and others of its row and its column."""
    middle, y = drawn_at(pilot, text)
    begin = middle - len(text) // 2
    yield from ((x, y) for x in (begin - 1, begin + len(text), *range(0, begin, 9)))
    yield from ((middle, at) for at in range(pilot.app.size.height) if at != y)


async def test_beside_the_hint_a_click_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KpdApp, "CLICK_CHAIN_TIME_THRESHOLD", -1.0)  # none of them is the second of a double click
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await use(pilot, ["S"])
        for cell in around(pilot, STOP):
            await click(pilot, cell)
            assert isinstance(app.screen, QuestionScreen), cell
        for begin in ("Stop r1 now?", "What was accepted", "n or esc"):
            await drag(pilot, drawn_at(pilot, begin), drawn_at(pilot, STOP))
            assert isinstance(app.screen, QuestionScreen), begin
    assert feed.commands == []
