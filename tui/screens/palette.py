"""Shows the palette: type part of a name, enter takes the action."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input

from tui.actions.action import Action, reason
from tui.actions.keys import written
from tui.actions.table import ACTIONS
from tui.format.text import clip, fit, line
from tui.screens.dialog import Dialog
from tui.screens.modal import TextEntry


class PaletteScreen(Dialog[str]):
    """The palette; its result is the id of the chosen action, or None."""

    BINDINGS: ClassVar = [
        Binding("up", "choose(-1)", "previous", show=False),
        Binding("down", "choose(1)", "next", show=False),
    ]

    def __init__(self) -> None:
        hint = (("⏎ take it", "submit"), ("↑↓ choose", ""), ("esc close", "cancel"))
        super().__init__("Find an act", hint, tall=True)
        self._text: str | None = None
        self._found: list[Action] = []
        self._chosen = 0

    def compose_more(self) -> ComposeResult:
        yield TextEntry("Part of its name or of what it does")

    def on_mount(self) -> None:
        self._search()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._search()

    def entered(self, text: str) -> None:
        self._search()
        if self._found:
            self.answer(self._found[self._chosen].id)

    def clicked(self, y: int) -> None:
        if y < len(self._found):
            self.answer(self._found[y].id)

    def action_choose(self, by: int) -> None:
        self._search()
        self._chosen = max(0, min(self._chosen + by, len(self._found) - 1))
        self._draw()

    def _search(self) -> None:
        """Search for the text of the field, if it has changed."""
        text = self.query_one(TextEntry).value
        if text == self._text:
            return
        self._text = text
        words = text.lower().split()
        self._found = [one for one in ACTIONS if one.id != "palette" and all(word in _words(one) for word in words)]
        self._chosen = 0
        self._draw()

    def watch_view(self) -> None:
        self._show()

    def _draw(self) -> None:
        self._show()
        self.body.reveal(self._chosen)

    def _show(self) -> None:
        lines = [self._line(action) for action in self._found]
        if not lines:
            lines = [line(("No act has these words in its name or its description.", ".muted"))]
        self.body.show(lines, self._chosen if self._found else None)

    def _line(self, action: Action) -> Content:
        why = reason(action, self.view)
        keys = written(self.view.keys.get(action.id, action.keys))
        rest = clip(f"not now: {why}" if why else action.help, self.inner - 24)
        style = ".off" if why else ".key"
        return line(
            (fit(keys, 6), style),
            (fit(action.label, 16), ".off" if why else ""),
            ("  " + rest, ".off" if why else ".muted"),
        )


def _words(action: Action) -> str:
    return f"{action.group} {action.id} {action.label} {action.help}".lower()
