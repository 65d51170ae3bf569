"""Shows the left pane: tasks, runs and iterations, rendered row by row as they become visible."""

from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.reactive import var

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import TaskCard
from kpd.model.status import Queued
from kpd.text.gains import cell, times
from tui.format import marks
from tui.format.lazy_rows import LazyRows
from tui.format.numbers import count, figure
from tui.format.scores import won
from tui.format.text import Part, clean, clip, fit, line, wrapped
from tui.model.outline import OutlineRow, TreePosition
from tui.model.view import View
from tui.model.waits import waits
from tui.widgets.lines import Lines

WHAT, WORD, SCORE, AGENT, AGE = 13, 12, 8, 10, 5
"""Cells of a row's columns: the gain, the word before it, the score, the agent, the age."""
LEAST_REASON = 12
"""Cells that a reason needs at least to be shown; the overview has all of it."""


def row_line(view: View, row: OutlineRow, width: int) -> Content:
    """Draw one row in at most `width` cells: its name on the left, its result on the right."""
    match row.of:
        case TaskCard() as card:
            return _task(card, row, width)
        case Run() as run:
            return _run(view, run, row, width)
        case iteration:
            return _iteration(view, view.state.runs[row.place.run], iteration, width)


def _task(card: TaskCard, row: OutlineRow, width: int) -> Content:
    fold = "▾ " if row.open else "▸ "
    told, style = (" ✗ refused", ".bad") if card.error else (" ! unchecked", ".warn") if card.unchecked else ("", "")
    name = clip(clean(card.name), width - len(fold) - len(told))
    return line((fold, ".muted"), (name, ".strong"), (told, style))


def _run(view: View, run: Run, row: OutlineRow, width: int) -> Content:
    mark = marks.of_run(run, bool(view.state.held))
    factor = won(run)
    left = f" {'▾' if row.open else '▸'} "
    room = max(0, width - len(left) - len(factor) - 1)
    word = f" {mark.glyph} {mark.word}"
    if isinstance(run.status, Queued) and len(queue := view.state.queue) > 1:
        word += f" {queue.index(run) + 1} of {len(queue)}"
    if run.waiting and mark.word == marks.WAITING.word:
        found = line((left, ".muted"), run.id, (word, mark.style))
        reason = f"  {waits(run).text}" if width - found.cell_length >= LEAST_REASON else ""
        return (found + line((reason, ".muted"))).truncate(width, ellipsis=True)
    name = f"{run.id} {clean(run.agent)}"
    shown = name if cell_len(name) + len(word) <= room else run.id
    return line(
        (left, ".muted"), shown, (fit(word, room - cell_len(shown)), mark.style), " ", (factor, ".good")
    )  # fmt: skip


def _iteration(view: View, run: Run, it: Iteration, width: int) -> Content:
    """Draw an iteration: mark and gain, or its outcome; then score, agent and age as far as there is room."""
    mark = marks.of_iteration(it, run, bool(view.state.held))
    sign = (" ", "")
    if run.incumbent == it.number:
        sign = ("★", ".good")
    elif view.mark == TreePosition(run.task, run.id, it.number):
        sign = ("◈", ".accent")
    left = f"{it.number:>{max(2, len(str(run.iterations[-1].number)))}} {mark.glyph} "
    columns: list[Part] = [(fit(_age(view, it), AGE, right=True), ".muted")]
    room = width - 2 - len(left) - AGE
    if room >= WHAT + SCORE + AGENT:
        columns.insert(0, ("  " + fit(clean(it.agent), AGENT - 2), ".muted"))
        room -= AGENT
    if room >= WHAT + SCORE:
        columns.insert(0, fit(figure(it.score) if it.score is not None else "", SCORE, right=True))
        room -= SCORE
    return line(" ", sign, (left + fit(_what(it, mark, room), room), mark.style), *columns)


def _what(it: Iteration, mark: marks.Mark, room: int) -> str:
    """Return `1.034× ±0.004` for a judged iteration, with its word where there is room; else the word for its state."""
    word = mark.word
    if it.outcome is None and it.step is not None and mark is not marks.REVIEW:
        word = it.step
    if it.verdict is None or it.outcome == "baseline":
        return word
    text = cell(it.verdict.gain)
    for longer in (f"{fit(word, WORD)} {text}", text):
        if cell_len(longer) <= room:
            return longer
    return times(it.verdict.gain.speedup.ratio)


def _age(view: View, it: Iteration) -> str:
    """Format how long ago it ended, or else began: `now`, `5m`, `3h`, `12d`."""
    since = view.moment - (it.ended if it.ended is not None else it.started)
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if since >= size:
            return f"{min(since // size, 999):.0f}{letter}"
    return "now"


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
            none = f"None of {count(self.view.outline.total, 'iteration')} is let through by the filter."
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
