"""Draws the steps of an iteration: which are done, their times, and the usual time of the current one."""

from itertools import zip_longest
from statistics import median

from textual.content import Content

from kpd.model.detail import Detail
from kpd.model.facts.steps import STEP_OF
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import STEPS, StepName
from tui.format import marks
from tui.format.numbers import seconds
from tui.format.text import Part, as_fits, line
from tui.model.answers import Show
from tui.model.view import View
from tui.panes.parts import heading

_FACT_OF: dict[StepName, str] = {step: fact.kind() for fact, step in STEP_OF.items()}


def across(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> list[Content]:
    """Draw the steps in two rows, or only the heading once all of them are done."""
    found = [_heading(view, run, it, detail, width)]
    if all(_state_of(view, step, run, it, detail)[0] is marks.DONE for step in it.steps):
        return found
    half = (len(it.steps) + 1) // 2
    rows = it.steps[:half], it.steps[half:]
    widths = [max(map(len, column)) + 3 for column in zip_longest(*rows, fillvalue="")]
    for row in rows:
        parts: list[Part] = []
        for step, cell in zip(row, widths, strict=False):
            mark, _ = _state_of(view, step, run, it, detail)
            parts.append((f"{mark.glyph} {step}".ljust(cell), mark.style))
        found.append(line(*parts).rstrip())
    return found


def down(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> list[Content]:
    """Draw a row for each step, with its time."""
    found = [_heading(view, run, it, detail, width)]
    for step in it.steps:
        mark, took = _state_of(view, step, run, it, detail)
        word = "" if mark is marks.DONE or (mark is marks.NOT_YET and it.outcome is not None) else mark.word
        if mark is marks.RUNNING:
            word = seconds(elapsed(view, it))
        elif mark is marks.NOT_YET and word and (expected := usual(view, run, it, step)) is not None:
            word = f"about {seconds(expected)}"
        time = seconds(took) if took is not None else word
        style = mark.style if step == it.step and it.outcome is None else ".muted"
        found.append(
            line((f"{mark.glyph} ", mark.style), f"{step:<9}", (f"{time:>{max(12, min(17, width - 11))}}", style))
        )
    return found


def elapsed(view: View, it: Iteration) -> float:
    """Return the seconds that the step under way has taken so far."""
    return max(0.0, view.moment - (it.under_way.since if it.under_way is not None else 0.0))


def usual(view: View, run: Run, it: Iteration, step: StepName) -> float | None:
    """Return the usual time of the step in seconds, from the iteration's parent and the baseline; None where not known.

    For a proposal only the parent counts, if it has the same agent.
    """
    show = view.shown.show
    if not isinstance(show, Show):
        return None
    parent = run.iteration(it.parent)
    by_the_same = parent is not None and parent.agent == it.agent
    known = (
        [show.parent]
        if step == "propose" and by_the_same
        else []
        if step == "propose"
        else [show.parent, show.baseline]
    )
    took = [getattr(one, _FACT_OF[step]) for one in known if one is not None and step in _FACT_OF]
    found = [fact.seconds for fact in took if fact is not None]
    return median(found) if found else None


def _state_of(view: View, step: StepName, run: Run, it: Iteration, detail: Detail) -> tuple[marks.Mark, float | None]:
    """Return whether a step is done, under way or to come, and how long it took."""
    if it.step == step and it.outcome is None:
        return marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch), None
    if step == "record":
        return (marks.DONE if it.outcome is not None else marks.NOT_YET), None
    fact = getattr(detail, _FACT_OF[step])
    if fact is not None:
        return marks.DONE, fact.seconds
    if step == "review" and it.review == "approved":  # an older log, without this step
        return marks.DONE, None
    if it.outcome is None and it.step is not None and STEPS.index(step) < STEPS.index(it.step):
        return marks.DONE, None
    if it.outcome in ("rejected", "failed") and step == _ended_at(it, detail):
        return marks.FAILED, None
    if it.outcome in ("baseline", "accepted") or (it.verdict is not None and STEPS.index(step) <= STEPS.index("judge")):
        return marks.DONE, None
    return marks.NOT_YET, None


def _ended_at(it: Iteration, detail: Detail) -> StepName | None:
    """Return the step that ended an iteration early: the first one without a result."""
    if it.verdict is not None:
        return None
    passed = "review" if it.review == "approved" else None
    return next((step for step in it.steps[:-1] if step != passed and getattr(detail, _FACT_OF[step]) is None), None)


def _heading(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> Content:
    if it.outcome is not None or it.step is None:
        done = sum(_state_of(view, step, run, it, detail)[0] is marks.DONE for step in it.steps)
        if it.outcome in ("rejected", "failed") and (last := _ended_at(it, detail)) is not None:
            return heading("Steps", (f"ended by {last}", ".bad"))
        took = f"{done} of {len(it.steps)} done in {seconds(it.ended - it.started)}" if it.ended else "about to begin"
        return heading("Steps", (took, ".muted"))
    place = f"{it.step}, {it.steps.index(it.step) + 1} of {len(it.steps)}"
    attempt = it.under_way.attempt if it.under_way is not None else 1
    again = f", attempt {attempt}" if attempt > 1 else ""
    found = heading("Steps", (place + again, ".accent"))
    mark = marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch)
    if mark is not marks.RUNNING:
        word = (f"  {mark.word}", mark.style) if mark is marks.NO_LINK else ("  waiting", ".warn")
        return as_fits(found, [word], width)
    expected = usual(view, run, it, it.step)
    so_far: list[Part] = [(f"  {seconds(elapsed(view, it))}", ".accent")]
    if expected is not None:
        so_far.append((f", usually {seconds(expected)}", ".muted"))
    return as_fits(found, so_far, width)
