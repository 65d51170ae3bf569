"""Draws the phases before a run's first iteration: which are done, their times, and what they came to."""

from textual.content import Content

from kpd.model.preparation import BeforePhase, Phase
from kpd.model.run import Run
from kpd.text.preparing import PHASES, came_to, cost
from tui.format import marks
from tui.format.numbers import seconds
from tui.format.text import Part, as_fits, clean, line, wrapped
from tui.model.view import View
from tui.panes.parts import NARROW, heading

NAME, TIME = 9, 10
"""Cells of a phase's name and of its time."""


def phases(view: View, run: Run, width: int) -> list[Content]:
    """Draw a row for each phase, or only one line with their times once all of them are done."""
    wanted, known = run.phases_wanted, {phase.name: phase for phase in run.phases}
    if not wanted:
        return []
    title = heading("Preparation")
    if not run.unprepared:
        whole = seconds(sum(phase.seconds for phase in run.phases))
        each = (f"{phase.name} {seconds(phase.seconds)}" for phase in run.phases)
        told = [whole, *filter(None, map(cost, run.phases)), *each]
        parts: list[Part] = [(f"  {one}", ".muted") for one in told]
        return [as_fits(title, parts, width)]
    done = sum(phase.done for phase in run.phases)
    found = [as_fits(title, [(f"  {done} of {len(wanted)} done", ".accent")], width)]
    for name in wanted:
        found += _row(view, run, name, known.get(name), width)
    return found


def _row(view: View, run: Run, name: BeforePhase, phase: Phase | None, width: int) -> list[Content]:
    mark, time, said = marks.of_phase(run, phase, view.out_of_touch), "", PHASES[name]
    if phase is not None:
        if phase.result is not None:
            time = seconds(phase.seconds)
            said = "failed" if phase.result.failed else came_to(name, phase.result)
        elif not run.over:
            time = seconds(max(0.0, view.moment - phase.at))
        said += f", begun {phase.times} times" if phase.times > 1 else ""
        said += f", {paid}" if (paid := cost(phase)) else ""
    head = line((f"{mark.glyph} ", mark.style), f"{name:<{NAME}}", (f"{time:>{TIME}}  ", ".muted"))
    first, *more = wrapped(clean(said), max(NARROW, width - head.cell_length), ".muted", most=4)
    return [head + first, *(line(" " * head.cell_length) + one for one in more)]
