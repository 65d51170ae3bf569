"""Draws parts that several panes share: headings, hints, and the sentence for an empty pane."""

from textual.content import Content

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import Queued
from kpd.text import preparing
from kpd.text.endings import of_run
from kpd.text.numbers import counted
from kpd.text.verdicts import UNCHECKED
from kpd.text.waits import wait
from kpd.workspace.editable import covers
from kpd.workspace.host_tables import ANY
from tui.actions.table import key
from tui.format.text import BLANK, Part, clean, clip, line, wrapped
from tui.model.answers import Problem
from tui.model.view import View

NARROW = 16
"""Cells that text needs at least to stand in a column."""


def heading(title: str, *aside: Part) -> Content:
    """Draw a section's title, with a text beside it."""
    return line((title, ".heading"), *(("  ", *aside) if aside else ()))


def sentence(text: str, width: int) -> list[Content]:
    return wrapped(text, width, ".muted")


def labelled(label: str, text: str, width: int, style: str = "", indent: int = 0, column: int = 11) -> list[Content]:
    """Draw `text` in a column beside its label, or after it where there is no room for columns."""
    if width - indent - column < NARROW:
        return wrapped(f"{label}: {text}", width, style, indent=indent)
    body = wrapped(text, width - indent - column, style)
    first, rest = " " * indent + f"{label:<{column}}", " " * (indent + column)
    return [Content.assemble((first if nth == 0 else rest, ".muted"), one) for nth, one in enumerate(body)]


def problem(found: Problem, width: int) -> list[Content]:
    """Draw why a question got no answer, and the remedy."""
    lines = wrapped(f"✗ {found.message}", width, ".bad")
    return lines + (wrapped(found.remedy, width, ".muted", indent=2) if found.remedy else [])


def nothing_heard(view: View, width: int) -> list[Content] | None:
    """Explain why nothing is known at all; None as soon as the daemon has sent its state."""
    if view.state.seq:
        return None
    if view.link.state != "down":
        return sentence("Connecting to the daemon of this workspace.", width)
    return sentence(
        "No daemon answers, so there is nothing to show yet. Start it with `kpd start` in a shell; "
        "this screen connects by itself.",
        width,
    )


def nothing_selected(view: View, width: int) -> list[Content] | None:
    """Explain why there is no iteration to show, and how to get one; None when there is one."""
    if view.iteration is not None:
        return None
    if (nothing := nothing_heard(view, width)) is not None:
        return nothing
    run = view.run
    if run is not None:
        return sentence(_run_without_iteration(view, run), width)
    if view.task is not None:
        return _task(view, width)
    return sentence(
        "No tasks yet. `kpd task new NAME` makes one under tasks/; it appears on the left as soon as it is saved.",
        width,
    )


def _run_without_iteration(view: View, run: Run) -> str:
    if run.iterations:
        follow = key(view, "follow")
        return f"{run.id} is selected. Choose one of its iterations on the left, or follow the newest: {follow}."
    if run.over:
        return f"{run.id} ended before its first iteration: {clean(of_run(run))}"
    if run.unprepared:
        makes = f"{run.id} makes its task of {clean(run.deploy)}. {clean(preparing.now(run))}"
        return f"{makes}. Its baseline, iteration 0, appears here when it begins."
    if isinstance(run.status, Queued):
        waits = f", and waits: {clean(wait(run.waiting))}" if run.waiting else f" for {where(run)}"
        return f"{run.id} is queued{waits}. Its baseline, iteration 0, appears here when it begins."
    waits = f" It waits: {clean(wait(run.waiting))}." if run.waiting else ""
    return f"{run.id} is getting ready on {where(run)}.{waits} Its baseline, iteration 0, appears here first."


def where(run: Run) -> str:
    """Return the host of a run; a queued run may not have one yet."""
    return clean(run.host) if run.host not in ("", ANY) else "any host that fits"


def told(bottleneck: str, width: int, most: int = 0) -> list[Content]:
    """Draw what limits the candidate; empty while that is not known."""
    if not bottleneck:
        return []
    first, *more = wrapped(f"bottleneck: {bottleneck}", width, most=most)
    return [first.stylize(".muted", 0, len("bottleneck:")), *more]


def device(run: Run, width: int, it: Iteration | None = None) -> list[Content]:
    """Draw the GPU of a run in a line, of several that of an iteration. Empty for a CPU."""
    several = len(run.each_device) > 1 and it is not None and it.place in run.each_device
    which = f" · device {run.each_device.index(it.place) + 1} of {len(run.each_device)}" if it and several else ""
    which += "".join(f" · before on {clean(former.kind.name)}" for former in run.former)
    unsaid = run.device_id in ("", "cpu") and not run.former
    return [] if unsaid else [line((clip(clean(run.device) + which, width), ".muted"))]


def _task(view: View, width: int) -> list[Content]:
    task = view.task
    assert task is not None
    lines = [line((clean(task.name), ".strong"), ("  " + clean(task.language), ".muted"))]
    if task.error:
        lines += wrapped(f"✗ refused: {task.error}", width, ".bad")
        return lines + sentence("Correct the file and save it: the daemon reads it again by itself.", width)
    lines += wrapped(task.summary, width) if task.summary else []
    lines += wrapped(f"! {UNCHECKED}", width, ".warn") if task.unchecked else []
    here = (name for name in task.editable if not any(covers(area, name) for area in task.areas))
    files = ", ".join(map(clean, (*here, *task.areas))) or "none"
    points = counted(task.tunable, "point") if task.tunable else "none"
    lines += [
        BLANK,
        line(("candidates may change  ", ".muted"), files),
        line(("tuning space           ", ".muted"), points),
        BLANK,
    ]
    if not any(run.task == task.name for run in view.state.runs.values()):
        none = f"No run of this task yet. {key(view, 'run')} queues one: its iterations appear on the left."
        lines += sentence(none, width)
    return lines
