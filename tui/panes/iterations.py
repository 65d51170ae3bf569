"""Draws iterations as a line each: the newest of a run, those before and after another one, and those of the hosts."""

from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest

from rich.cells import cell_len
from textual.content import Content

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.text.endings import of_iteration
from tui.format import marks
from tui.format.numbers import clock, figure, seconds
from tui.format.text import BLANK, clean, clip, first_line, fit, line
from tui.model.view import View
from tui.panes.parts import heading

LEAST = 2
"""Iterations that are worth a heading."""

Row = tuple[list[tuple[str, str, bool]], str]
"""The cells of an iteration, each with its style and whether it stands at the right of its column; what it tried."""


def lately(view: View, run: Run, width: int, most: int) -> list[Content]:
    """Draw the newest iterations that have ended: their outcome, and what they tried."""
    ended = [it for it in reversed(run.iterations) if it.outcome is not None][: max(0, most)]
    title = heading("Lately", ("each against its incumbent; scores as measured then", ".muted"))
    return [title, *_lines([_row(view, run, it) for it in ended], width)] if ended else []


def around(view: View, width: int, room: int) -> tuple[list[Content], list[Content]]:
    """Draw the run's iterations before the selected one, and those after it: the nearest, in at most `room` lines.

    Where only a run is selected, all of them come after.
    """
    run, here = view.run, view.iteration
    if run is None:
        return [], []
    before = [it for it in run.iterations if here is not None and it.number < here.number]
    after = [it for it in run.iterations if here is None or it.number > here.number]
    most = room - 2 * bool(before) - 2 * bool(after)
    later = min(len(after), max(most // 2, most - len(before)))
    earlier = min(len(before), most - later)
    shown = before[len(before) - earlier :] if earlier >= LEAST else []
    further = (after[:later] if here is not None else after[len(after) - later :]) if later >= LEAST else []
    rows = _timed(view, ((run, it) for it in (*shown, *further)), width)
    above = [heading("Earlier", (f"in {run.id}", ".muted")), *rows[: len(shown)], BLANK] if shown else []
    title = heading("Later", (f"in {run.id}", ".muted")) if here is not None else heading("Iterations")
    return above, [BLANK, title, *rows[len(shown) :]] if further else []


def on_hosts(view: View, width: int, room: int) -> list[Content]:
    """Draw what was measured last on the hosts, the newest first, in at most `room` lines."""
    timed = (
        (run, it)
        for run in view.state.runs.values()
        if run.host in view.state.hosts
        for it in run.iterations
        if it.score is not None
    )
    found = nlargest(max(0, room - 1), timed, key=lambda one: one[1].started)
    many = len(view.state.hosts) > 1
    rows = _timed(view, found, width, lambda run: f"{clean(run.host)} · {clean(run.task)}" if many else clean(run.task))
    return [heading("Measured lately", ("each against its incumbent", ".muted")), *rows] if len(found) >= LEAST else []


def _timed(
    view: View, shown: Iterable[tuple[Run, Iteration]], width: int, where: Callable[[Run], str] | None = None
) -> list[Content]:
    """Draw iterations with the time of day at which they began, and how long they took."""
    rows: list[Row] = []
    for run, it in shown:
        cells, told = _row(view, run, it)
        took = seconds(it.ended - it.started) if it.ended is not None else ""
        place = [(where(run), ".muted", False)] if where is not None else []
        rows.append(([(clock(it.started, view.zone), ".muted", False), *cells, (took, ".muted", True), *place], told))
    return _lines(rows, width)


def _row(view: View, run: Run, it: Iteration) -> Row:
    mark = marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch)
    told = first_line(it.memo) or first_line(of_iteration(it))
    news = marks.gain_of(it) or mark.word
    cells = [(f"{mark.glyph} {run.id}.{it.number}", mark.style, False), (news, mark.style, True)]
    return [*cells, (figure(it.score), "", True)], told


def _lines(rows: Sequence[Row], width: int) -> list[Content]:
    """Draw the cells in columns, and what was tried in the cells that are left."""
    widths = [
        max(cell_len(text) for text, _, _ in column) for column in zip(*(cells for cells, _ in rows), strict=True)
    ]
    found = []
    for cells, told in rows:
        parts = [
            (fit(text, room, right) + "  ", style) for (text, style, right), room in zip(cells, widths, strict=True)
        ]
        head = line(*parts)
        found.append((head + line((clip(told, width - head.cell_length), ".muted"))).truncate(width, ellipsis=True))
    return found
