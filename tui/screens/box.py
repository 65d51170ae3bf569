"""The frame that everything over the board stands in: a title, what can be done, and a body of lines."""

from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.widgets.lines import Lines
from tui.words.text import clean

Answer = TypeVar("Answer")

WIDTH, MARGIN = 90, 5
"""Cells of a box (the style sheet says the same), and those that border, padding and scrollbar take of them."""


class Box(ModalScreen[Answer], Generic[Answer]):
    """`hint` stands in the lower border and says which keys do what; `reads` lets the keyboard scroll the lines."""

    BINDINGS: ClassVar = [("escape", "cancel", "cancel")]

    def __init__(self, title: str, hint: str, tall: bool = False, reads: bool = False) -> None:
        super().__init__()
        self.body = Lines(id="text")
        self.body.can_focus = reads
        self._title = title
        self._hint = hint
        self._tall = tall

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall" if self._tall else "box") as box:
            box.border_title = Content(f" {clean(self._title)} ")
            box.border_subtitle = Content(f" {self._hint} ")
            yield self.body
            yield from self.compose_more()

    def compose_more(self) -> ComposeResult:
        """What stands below the lines."""
        yield from ()

    @property
    def inner(self) -> int:
        """Cells there are for a line."""
        return min(WIDTH, self.app.size.width) - MARGIN

    def action_cancel(self) -> None:
        self.dismiss(None)


def entry(placeholder: str, value: str = "") -> Input:
    """A line to type. Its cursor does not blink: an idle screen writes nothing."""
    field = Input(value, placeholder=clean(placeholder), select_on_focus=False, max_length=2_000)
    field.cursor_blink = False
    return field
