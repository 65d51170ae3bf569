"""One of a few things to be chosen."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding

from tui.screens.box import Box
from tui.words.text import clean, line


class ChoiceScreen(Box[str]):
    """Gives the chosen name, or None."""

    BINDINGS: ClassVar = [
        Binding("up,k", "choose(-1)", "previous", show=False, priority=True),
        Binding("down,j", "choose(1)", "next", show=False, priority=True),
        Binding("enter", "take", "take it", show=False, priority=True),
    ]

    def __init__(self, title: str, names: Sequence[str]) -> None:
        hint = (("⏎ take it", "take"), ("↑↓ choose", ""), ("esc leave it", "cancel"))
        super().__init__(title, hint, reads=True)
        self._names = names
        self._chosen = 0

    def on_mount(self) -> None:
        self._draw()

    def action_choose(self, by: int) -> None:
        self._chosen = max(0, min(self._chosen + by, len(self._names) - 1))
        self._draw()

    def action_take(self) -> None:
        self.dismiss(self._names[self._chosen])

    def clicked(self, y: int) -> None:
        if y < len(self._names):
            self.dismiss(self._names[y])

    def _draw(self) -> None:
        self.body.show([line(" ", clean(name)) for name in self._names], self._chosen)
        self.body.reveal(self._chosen)
