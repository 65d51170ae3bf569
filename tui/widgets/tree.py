"""Shows the left pane: tasks, runs and iterations, rendered row by row as they become visible."""

from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.reactive import var

from kpd.model.iteration import Iteration
from kpd.text.numbers import counted
from tui.format.lazy_rows import LazyRows
from tui.format.text import wrapped
from tui.model.outline import OutlineRow, TreePosition
from tui.model.view import View
from tui.panes.outline import row_line
from tui.widgets.lines import Lines


class Tree(Lines):
    """The outline with a cursor; it reports where the operator wants to go, and never goes there by itself."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar = [
        Binding("up,k", "step(-1)", "previous row", show=False),
        Binding("down,j", "step(1)", "next row", show=False),
        Binding("pageup", "page(-1)", "a page up", show=False),
        Binding("pagedown", "page(1)", "a page down", show=False),
        Binding("home", "step(-1000000)", "first row", show=False),
        Binding("left", "fold(False)", "fold", show=False),
        Binding("right", "fold(True)", "unfold", show=False),
        Binding("enter", "enter", "open", show=False),
    ]
    view: var[View] = var(View, init=False)

    class Moved(Message):
        """The message that the operator went to another row."""

        def __init__(self, place: TreePosition) -> None:
            super().__init__()
            self.place = place

    class Folded(Message):
        """The message that the operator folded or unfolded a task or a run."""

        def __init__(self, place: TreePosition, open: bool) -> None:
            super().__init__()
            self.place = place
            self.open = open

    class Entered(Message):
        """The message that the operator wants to see the iteration in detail."""

    def watch_view(self) -> None:
        if not self.room.width:
            return
        if not self.view.outline.rows:
            none = f"None of {counted(self.view.outline.total, 'iteration')} is let through by the filter."
            text = none if self.view.filter else "Tasks, their runs and their iterations appear here."
            self.show(wrapped(text, self.room.width, ".muted"))
            return
        before = self.cursor
        at = self.view.outline.index.get(self.view.at)
        view, width = self.view, self.room.width
        rows = view.outline.rows
        self.show(LazyRows(len(rows), lambda y: row_line(view, rows[y], width)), at)
        if at is not None and at != before:
            self.reveal(at)

    def on_resize(self) -> None:
        self.watch_view()
        if self.cursor is not None:
            self.reveal(self.cursor)

    def action_step(self, by: int) -> None:
        self.post_message(self.Moved(self.view.outline.step(self.view.at, by)))

    def action_page(self, by: int) -> None:
        self.action_step(by * max(1, self.room.height - 1))

    def action_fold(self, open: bool) -> None:
        """Fold the row, or go up a level if it cannot be folded; with `open` unfold it, or open the iteration."""
        row = self._row()
        if row is None:
            return
        if isinstance(row.of, Iteration):
            self.post_message(self.Entered() if open else self.Moved(row.place.folder))
        elif row.open != open:
            self.post_message(self.Folded(row.place, open))
        elif not open and row.place.run:
            self.post_message(self.Moved(row.place.folder))

    def action_enter(self) -> None:
        row = self._row()
        if row is None:
            return
        if isinstance(row.of, Iteration):
            self.post_message(self.Entered())
        else:
            self.post_message(self.Folded(row.place, not row.open))

    def on_click(self, event: events.Click) -> None:
        at = event.y + self.scroll_offset.y
        rows = self.view.outline.rows
        if at < len(rows):
            self.post_message(self.Moved(rows[at].place))
            if rows[at].place == self.view.at and not isinstance(rows[at].of, Iteration):
                self.post_message(self.Folded(rows[at].place, not rows[at].open))

    def _row(self) -> OutlineRow | None:
        at = self.view.outline.index.get(self.view.at)
        return None if at is None else self.view.outline.rows[at]
