"""Whatever agents, programs and operators write, no pane breaks: each row has its width, nothing raw gets out."""

from collections.abc import Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

from kpd.subscription import Dropped, Live
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.hostile import CONTROL, EMOJI, MARKUP, MEGABYTES, SIZE, run_with, screen
from tui.app import KpdApp
from tui.model.outline import TreePosition
from tui.model.view import TABS
from tui.widgets.pane import DiffPane

RIGHT_TO_LEFT = "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u202c \u2066abc\u2069 \u200f"
MIXED = f"{CONTROL} {MARKUP} {RIGHT_TO_LEFT} {EMOJI}"
KINDS = {"mixed": MIXED, "many lines": f"{CONTROL}\r\n{MARKUP}\r" * 300, "ten megabytes": MEGABYTES}


def diff_of(text: str) -> str:
    """A diff of a file of that name with that in it, and with a header and lines that make no sense."""
    line = text.replace("\n", " ")
    head = f"--- a/{line[:300]}\n+++ b/{line[:300]}.cu\n"
    body = f"@@ -1,2 +1,3 @@ {line[:300]}\n-{line}\n+{line}\n+{line[::-1]}\n {line}\n"
    return f"{line[:300]}: too large to compare\n{head}{body}@@ -99999999999999999999 @@\n@@ -5,1 +5,1 @@\n-a\n+{line}"


async def everything(pilot: Pilot[Any], app: KpdApp) -> None:
    """Look at a pane from its beginning to its end."""
    for keys in (("home",), ("pagedown", "pagedown"), ("end",)):
        await pilot.press(*keys)
        await settled(pilot)
        screen(app)


# ── every pane ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=KINDS)
def hostile(request: pytest.FixtureRequest) -> Iterator[str]:
    yield KINDS[request.param]


async def test_no_text_of_others_breaks_any_pane(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.tui.feed.DIFF", diff_of(hostile))
    feed = CannedFeed(run_with(hostile))
    app = app_on(feed)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        feed.push(
            Live("build" + hostile[:50], "r1", 6, hostile), Live("agent", "r1", 6, hostile), Dropped(10**12),
            Live("job", "r1", 6, hostile + "\n"), Live("job", "r1", 6, hostile[:5000]),
        )  # fmt: skip
        await pilot.press("tab")
        for tab in range(1, len(TABS) + 1):
            await pilot.press(str(tab))
            await settled(pilot)
            await everything(pilot, app)
        app.change(mark=TreePosition(logs.TASK, "r1", 3), split=True, find=hostile[:20], against="mark")
        await pilot.press("4")
        await settled(pilot)
        pane = app.query_one(DiffPane)
        for _ in range(4):
            pane.next_hunk()
            await settled(pilot)
            screen(app)
        await pilot.press("2")
        await settled(pilot)
        await pilot.press("6", "n", "N")
        await settled(pilot)
        await everything(pilot, app)
        app.change(at=TreePosition(logs.TASK, "r1"), following=False)
        await settled(pilot)
        screen(app)
    assert feed.commands == []


@pytest.mark.parametrize("size", [(20, 6), (40, 12), (200, 50)])
async def test_no_size_of_the_terminal_does_either(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = MIXED + "\n" + "z" * 5000
    monkeypatch.setattr("tests.support.tui.feed.DIFF", diff_of(mixed))
    feed = CannedFeed(run_with(mixed))
    app = app_on(feed)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        feed.push(Live("job", "r1", 6, mixed), Live("agent", "r1", 6, mixed))
        app.change(split=True)
        for tab in range(1, len(TABS) + 1):
            await pilot.press(str(tab))
            await settled(pilot)
            screen(app)
