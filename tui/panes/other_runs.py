"""Draws the other active and queued runs."""

from rich.cells import cell_len
from textual.content import Content

from kpd.model.run import Run
from tui.format import marks
from tui.format.scores import won
from tui.format.text import Part, as_fits, clean, clip, fit, line
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
