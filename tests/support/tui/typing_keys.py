"""Types into a cockpit."""

from typing import Any

from textual import events
from textual.pilot import Pilot

from kpd.subscription import DaemonError
from tests.support.tui.views import plain
from tui.app import KpdApp
from tui.screens.modal import TextEntry
from tui.widgets.lines import Lines

REFUSED = DaemonError("refused", "r1 is about to end", "wait for the next run")
NAMES = {
    " ": "space", "\r": "enter", "/": "slash", ":": "colon", "?": "question_mark",
    "↑": "up", "↓": "down", "⌫": "backspace", "⎋": "escape",
}  # fmt: skip


async def at_once(pilot: Pilot[Any], text: str) -> None:
    """Keys as they come in one packet: without a pause between them."""
    for letter in text:
        pilot.app.post_message(events.Key(NAMES.get(letter, letter), None if letter in "\r↑↓⌫⎋" else letter))
    for _ in range(20):
        await pilot.pause()


def typed(app: KpdApp) -> str:
    return app.screen.query(TextEntry).first().value


def words(app: KpdApp) -> str:
    """All lines of the box that is open, as one text."""
    return " ".join(" ".join(plain(one.lines).split()) for one in app.screen.query(Lines))
