"""The left pane: tasks, runs and iterations, rendered row by row as they come into sight."""

from collections.abc import Sequence
from typing import ClassVar, overload

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.reactive import var

from kpd.model.nouns import Iteration, Run, TaskCard
from tui import marks
from tui.numbers import times
from tui.outline import Place, Row
from tui.text import clean, clip, fit, line, wrapped
from tui.view import View
from tui.waits import waits
from tui.widgets.lines import Lines


class Rows(Sequence[Content]):
    """The outline as lines that are made when they are looked at, so that thousands of them cost nothing."""

    def __init__(self, view: View, width: int) -> None:
        self._view = view
        self._width = width

    def __len__(self) -> int:
        return len(self._view.outline.rows)

    @overload
    def __getitem__(self, at: int) -> Content: ...
    @overload
    def __getitem__(self, at: slice) -> list[Content]: ...
    def __getitem__(self, at: int | slice) -> Content | list[Content]:
        if isinstance(at, slice):
            return [row_line(self._view, row, self._width) for row in self._view.outline.rows[at]]
        return row_line(self._view, self._view.outline.rows[at], self._width)


def row_line(view: View, row: Row, width: int) -> Content:
    """One row in at most `width` cells: what it is on the left, what came of it on the right."""
    match row.of:
        case TaskCard() as card:
            return _task(card, row, width)
        case Run() as run:
            return _run(view, run, row, width)
        case iteration:
            return _iteration(view, view.state.runs[row.place.run], iteration, width)


def _task(card: TaskCard, row: Row, width: int) -> Content:
    fold = "▾ " if row.open else "▸ "
    refused = " ✗ refused" if card.error else ""
    name = clip(clean(card.name), width - len(fold) - len(refused))
    return line((fold, ".muted"), (name, ".strong"), (refused, ".bad"))


def _run(view: View, run: Run, row: Row, width: int) -> Content:
    mark = marks.of_run(run, bool(view.state.held))
    best, baseline = run.best, run.baseline
    factor = times(baseline.score, best.score) if best and baseline and best is not baseline else ""
    left = f" {'▾' if row.open else '▸'} "
    room = max(0, width - len(left) - len(factor) - 1)
    word = f" {mark.glyph} {mark.word}"
    if run.waiting and mark.word == marks.WAITING.word:
        reason = f"  {waits(view.state, run).text}"
        return line((left, ".muted"), run.id, (word, mark.style), (reason, ".muted")).truncate(width, ellipsis=True)
    name = f"{run.id} {clean(run.agent)}"
    shown = name if cell_len(name) + len(word) <= room else run.id
    return line(
        (left, ".muted"), shown, (fit(word, room - cell_len(shown)), mark.style), " ", (factor, ".good")
    )  # fmt: skip


def _iteration(view: View, run: Run, it: Iteration, width: int) -> Content:
    mark = marks.of_iteration(it, run, bool(view.state.held))
    digits = max(2, len(str(run.iterations[-1].number)))
    best = "★" if run.incumbent == it.number else " "
    word = it.step if it.outcome is None and it.step is not None else mark.word
    gain = marks.gain_of(it)
    left = f"{it.number:>{digits}} "
    room = max(0, width - 3 - len(left) - len(gain) - 3)
    return line("  ", (best, ".good"), left, (f"{mark.glyph} {fit(word, room)} {gain}", mark.style))


class Tree(Lines):
    """Shows the outline with a cursor; says where the operator goes, and never goes there by itself."""

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
        """The operator went to another row."""

        def __init__(self, place: Place) -> None:
            super().__init__()
            self.place = place

    class Folded(Message):
        """The operator folded or unfolded a task or a run."""

        def __init__(self, place: Place, open: bool) -> None:
            super().__init__()
            self.place = place
            self.open = open

    class Entered(Message):
        """The operator wants to look closer at the iteration."""

    def watch_view(self) -> None:
        if not self.room.width:
            return
        if not self.view.outline.rows:
            self.show(wrapped("Tasks, their runs and their iterations appear here.", self.room.width, ".muted"))
            return
        before = self.cursor
        at = self.view.outline.index.get(self.view.at)
        self.show(Rows(self.view, self.room.width), at)
        if at is not None and at != before:
            self.reveal(at)

    def on_resize(self) -> None:
        self.watch_view()

    def action_step(self, by: int) -> None:
        self.post_message(self.Moved(self.view.outline.step(self.view.at, by)))

    def action_page(self, by: int) -> None:
        self.action_step(by * max(1, self.room.height - 1))

    def action_fold(self, open: bool) -> None:
        """Fold, or go up a level where there is nothing to fold; unfold, or look closer."""
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

    def _row(self) -> Row | None:
        at = self.view.outline.index.get(self.view.at)
        return None if at is None else self.view.outline.rows[at]
