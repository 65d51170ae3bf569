"""Defines the frame of all dialogs: a title, the keys, and a body of lines."""

from collections.abc import Sequence
from typing import ClassVar, Generic

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset, Region
from textual.widget import Widget
from textual.widgets import Input

from tui.format.text import clean, wrapped
from tui.screens.modal import Answer, Modal, TextEntry
from tui.widgets.lines import Lines

Hint = Sequence[tuple[str, str]]
"""Keys with their effect, and the action of a click there; empty where a click has none."""

WIDTH, TALL, MARGIN = 90, 110, 5
"""Cells of a dialog and of a tall one (the same as in the style sheet), and those for border, padding and scrollbar."""


class Dialog(Modal[Answer], Generic[Answer]):
    """A dialog. `hint` is in the lower border, where it can be clicked; with `reads` the keyboard scrolls the lines."""

    BINDINGS: ClassVar = [("escape", "cancel", "cancel")]

    def __init__(self, title: str, hint: Hint, tall: bool = False, reads: bool = False) -> None:
        super().__init__()
        self.body = Lines(id="text")
        self.body.can_focus = reads
        self._notice = Lines(id="notice")
        self._notice.can_focus = False
        self._notice.styles.height = "auto"
        self._told = ""
        self._title = title
        self._hint = hint
        self._tall = tall
        self._pressed = ""
        """The action on which the mouse button went down: let go on another, it takes neither."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall" if self._tall else "box") as box:
            box.border_title = Content(f" {clean(self._title)} ")
            box.border_subtitle = _bordered(self._hint)
            yield self.body
            yield self._notice
            yield from self.compose_more()

    def compose_more(self) -> ComposeResult:
        """Yield the widgets below the lines; here none."""
        yield from ()

    @property
    def keyboard(self) -> Widget | None:
        return super().keyboard or (self.body if self.body.can_focus else None)

    def refused(self, why: str) -> None:
        self.tell(why)

    def tell(self, trouble: str) -> None:
        """Show in the dialog what went wrong; an empty text removes it."""
        self._told = trouble
        self._notice.show(wrapped(f"✗ {trouble}", self.inner, ".bad") if trouble else [])

    def on_text_entry_cut(self, message: TextEntry.Cut) -> None:
        self.tell(str(message))

    def on_resize(self, event: events.Resize) -> None:
        self.tell(self._told)

    def offer(self, hint: Hint) -> None:
        """Show other keys in the lower border."""
        self._hint = hint
        self.query_one(".box").border_subtitle = _bordered(hint)

    @property
    def inner(self) -> int:
        """The number of cells in a line."""
        return min(TALL if self._tall else WIDTH, self.app.size.width) - MARGIN

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = self._hinted(event.screen_offset)

    async def on_click(self, event: events.Click) -> None:
        """Handle a click, but neither the end of a selection nor a double click, which may have opened this dialog."""
        if event.chain > 1 or self.selections:
            return
        if event.widget is self.body:
            self.clicked(event.y + self.body.scroll_offset.y)
        elif (action := self._hinted(event.screen_offset)) and action == self._pressed:
            await self.run_action(action)

    def clicked(self, y: int) -> None:
        """Handle a click on the line `y`, or below the last one."""

    def _hinted(self, cell: Offset) -> str:
        """Return the action of the part of the hint at `cell`; empty where there is none, or where it is cut off."""
        frame = self.query_one(".box")
        x, y = cell - frame.region.offset
        if y != frame.region.height - 1:
            return ""
        drawn = frame.render_lines(Region(0, y, frame.region.width, 1))[0].text
        begin = 0
        for text, action in self._hint:
            begin = drawn.find(text, begin)
            if begin < 0:
                break
            if begin <= x < begin + len(text):
                return action
        return ""

    def action_cancel(self) -> None:
        self.dismiss(None)

    async def action_submit(self) -> None:
        """Submit the entry line, as enter does in it."""
        await self.query(Input).first().action_submit()


def _bordered(hint: Hint) -> Content:
    return Content(f" {'  ·  '.join(text for text, _ in hint)} ")
