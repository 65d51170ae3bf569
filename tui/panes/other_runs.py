"""Draws the other active and queued runs, and the newest iterations of this one."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.text.endings import of_iteration
from tui.format import marks
from tui.format.numbers import figure
from tui.format.scores import won
from tui.format.text import Part, as_fits, clean, clip, first_line, fit, line
from tui.model.view import View
from tui.panes.parts import heading, where

MOST = 8


def others(view: View, run: Run, width: int) -> list[Content]:
    """Draw a line for each of the other runs, those that have begun first; nothing where this is the only one."""
    rest = [one for one in (*view.begun, *view.state.queue) if one.id != run.id]
    if not rest:
        return []
    ids = max(cell_len(one.id) for one in rest[:MOST])
    found = [heading("Other runs"), *(_run(view, one, ids, width) for one in rest[:MOST])]
    return [*found, line((f"and {len(rest) - MOST} more", ".muted"))] if len(rest) > MOST else found


def _run(view: View, run: Run, ids: int, width: int) -> Content:
    """Draw a run: its mark, id, task, host, step and gain; what does not fit is left out from the end."""
    mark, now = marks.of_run(run, bool(view.state.held), view.out_of_touch), run.current
    head = line((f"{mark.glyph} ", mark.style), (fit(run.id, ids), ".strong"), " ", clip(clean(run.task), 28))
    tail: list[Part] = [(f"  {where(run)}", ".muted")]
    if now is not None and now.step is not None and mark is marks.RUNNING:
        tail.append((f"  {now.number}: {now.step}", mark.style))
    else:
        tail.append((f"  {mark.word}", mark.style))
    if factor := won(run):
        tail.append((f"  {factor}", ".good"))
    return as_fits(head.truncate(width, ellipsis=True), tail, width)


def lately(view: View, run: Run, width: int, most: int) -> list[Content]:
    """Draw the newest iterations that have ended: their outcome, and what they tried."""
    ended = [it for it in reversed(run.iterations) if it.outcome is not None][:most]
    if not ended:
        return []
    rows = [_row(view, run, it) for it in ended]
    widths = [max(cell_len(row[at][0]) for row in rows) for at in range(3)]
    return [
        heading("Lately", ("each against its incumbent; scores as measured then", ".muted")),
        *(_line(row, widths, width) for row in rows),
    ]


Row = tuple[tuple[str, str], tuple[str, str], tuple[str, str], str]


def _row(view: View, run: Run, it: Iteration) -> Row:
    mark = marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch)
    told = first_line(it.memo) or first_line(of_iteration(it))
    return (f"{mark.glyph} {run.id}.{it.number}", mark.style), _news(it, mark), (figure(it.score), ""), told


def _news(it: Iteration, mark: marks.Mark) -> tuple[str, str]:
    return (marks.gain_of(it) or mark.word, mark.style)


def _line(row: Row, widths: Sequence[int], width: int) -> Content:
    (name, style), (news, news_style), (score, _), told = row
    head = line(
        (fit(name, widths[0]), style), "  ", (fit(news, widths[1], right=True), news_style), "  ",
        fit(score, widths[2], right=True), "  ",
    )  # fmt: skip
    return head + line((clip(told, width - head.cell_length), ".muted"))
