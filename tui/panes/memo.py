"""Memo: the run as a story, newest first, with the operator's notes and the steering queue on top."""

from textual.content import Content

from kpd.model.metrics import describe
from kpd.model.nouns import Iteration, Run, Steering
from tui import marks
from tui.numbers import change, count
from tui.panes.parts import heading, nothing_selected, sentence
from tui.story import verdict_text
from tui.text import BLANK, clean, line, wrapped
from tui.view import View

MOST_TOLD = 100
"""Iterations told at once; the story ends at the selected one, so the rest is a selection away."""


def lines(view: View, width: int, height: int) -> list[Content]:
    run = view.run
    if run is None or not run.iterations:
        return nothing_selected(view, width) or []
    found = _steering(run, width)
    last = view.iteration.number if view.iteration else run.iterations[-1].number
    told = [it for it in run.iterations if it.number <= last]
    found.append(heading(f"{run.id} up to iteration {last}", ("newest first", ".muted")))
    for it in reversed(told[-MOST_TOLD:]):
        found += [BLANK, *_chapter(view, run, it, width)]
    if len(told) > MOST_TOLD:
        earlier = count(len(told) - MOST_TOLD, "earlier iteration")
        found += [BLANK, *sentence(f"{earlier}: select one on the left to read the story up to it.", width)]
    return found


def _steering(run: Run, width: int) -> list[Content]:
    queued = [note for note in run.steering if note.consumed_by is None]
    if not queued:
        return []
    found = [heading("Steering queue", ("for the next iteration; s edits", ".muted"))]
    for note in queued:
        found += _note(note, width)
    return [*found, BLANK]


def _note(note: Steering, width: int) -> list[Content]:
    by = f"  — {clean(note.by)}" if note.by else ""
    text = wrapped(note.text + by, width - 5)
    return [
        Content.assemble((f"{note.note:>3}  " if nth == 0 else "     ", ".accent"), one) for nth, one in enumerate(text)
    ]


def _chapter(view: View, run: Run, it: Iteration, width: int) -> list[Content]:
    mark = marks.of_iteration(it, run, bool(view.state.held))
    gain = marks.gain_of(it)
    found = [
        line(
            (f"{it.number:>4}  ", ".strong" if view.at.iteration == it.number else ".muted"),
            (f"{mark.glyph} {gain + '  ' if gain else ''}{mark.word}", mark.style),
            (f"   {clean(it.agent)}", ".muted"),
        )
    ]
    for note in run.steering:
        if note.consumed_by == it.number:
            found += wrapped(f"steered: {note.text}", width, ".accent", indent=6)
    found += wrapped(it.memo, width, indent=6) if it.memo else sentence("      no memo yet", width)
    if (against := _expectation(it)) is not None:
        found += wrapped(against, width, ".muted", indent=6)
    if it.verdict is not None and it.outcome is None:
        found += wrapped(verdict_text(it.verdict), width, ".muted", indent=6)
    if it.override:
        found += wrapped(f"accepted by hand: {it.override}", width, ".warn", indent=6)
    if it.reason:
        found += wrapped(it.reason, width, ".muted", indent=6)
    return found


def _expectation(it: Iteration) -> str | None:
    """What the agent expected before anything was measured, against what came of it."""
    if it.expected is None:
        return None
    gain = f", gain {change(it.expected.gain_pct)}" if it.expected.gain_pct is not None else ""
    came = f"; came: {marks.gain_of(it)}" if it.verdict is not None else ""
    metric = describe(it.expected.metric)
    name = metric.label if metric is not None else clean(it.expected.metric)
    return f"expected: {name} {it.expected.direction}{gain}{came}"
