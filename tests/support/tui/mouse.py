"""Clicks and drags."""

from collections.abc import Iterable
from typing import Any

from textual import events
from textual.pilot import Pilot

from tests.support.tui.drawn import rows
from tests.support.tui.feed import settled
from tests.support.tui.pressing import type_keys

SMALL, LARGE = (80, 24), (120, 36)
STOP, TRUST = "y stop the run", "y trust the key"


def drawn_at(pilot: Pilot[Any], text: str) -> tuple[int, int]:
    """The cell in the middle of the one place on the screen where `text` stands."""
    found = [(row.index(text) + len(text) // 2, y) for y, row in enumerate(rows(pilot.app)) if text in row]
    assert len(found) == 1, (text, found)
    return found[0]


async def click(pilot: Pilot[Any], cell: tuple[int, int]) -> None:
    """On what is there: without a widget the pilot says that the screen as a whole was meant."""
    widget, region = pilot.app.get_widget_at(*cell)
    await pilot.click(widget, offset=(cell[0] - region.x, cell[1] - region.y))


async def use(pilot: Pilot[Any], steps: Iterable[str]) -> None:
    """Keys as `type_keys` takes them; `click:…` clicks on the text."""
    for step in steps:
        if step.startswith("click:"):
            await click(pilot, drawn_at(pilot, step.removeprefix("click:")))
        else:
            await type_keys(pilot, [step])
        await settled(pilot)


async def drag(pilot: Pilot[Any], begin: tuple[int, int], end: tuple[int, int]) -> None:
    """Press, move, let go, as a terminal tells it; whether that is a click, and of how many, Textual finds out."""
    for kind, (x, y) in ((events.MouseDown, begin), (events.MouseMove, end), (events.MouseUp, end)):
        if kind is not events.MouseMove or begin != end:
            pilot.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))
        await pilot.pause()
    await settled(pilot)
