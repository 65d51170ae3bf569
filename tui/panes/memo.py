"""Memo: the run as a story, newest first, with the operator's notes and the steering queue on top."""

from collections.abc import Iterator

from textual.content import Content

from kpd.model.metrics import describe
from kpd.model.nouns import Iteration, Run, Steering
from tui import marks, money
from tui.details import Show
from tui.numbers import change, count, figure, moved
from tui.panes.next import SWEEP, left_open
from tui.panes.parts import heading, labelled, nothing_selected, sentence
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
        ).truncate(width, ellipsis=True)
    ]
    for note in run.steering:
        if note.consumed_by == it.number:
            found += wrapped(f"steered: {note.text}", width, ".accent", indent=6)
    found += wrapped(it.memo, width, indent=6) if it.memo else sentence("      no memo yet", width)
    for label, text in _particulars(view, run, it):
        found += labelled(label, text, width, ".muted" if label == "cost" else "", indent=6)
    if it.verdict is not None and it.outcome is None:
        found += wrapped(verdict_text(it.verdict), width, ".muted", indent=6)
    if it.override:
        found += wrapped(f"accepted by hand: {it.override}", width, ".warn", indent=6)
    if it.reason:
        found += wrapped(it.reason, width, ".muted", indent=6)
    return found


def _particulars(view: View, run: Run, it: Iteration) -> Iterator[tuple[str, str]]:
    """What the agent aimed at and expected before anything was measured, what came of it, and what it cost."""
    if it.aims:
        yield "aims at", ", ".join(it.aims)
    if it.expected is not None:
        metric = describe(it.expected.metric)
        gain = f", gain {change(it.expected.gain_pct)}" if it.expected.gain_pct is not None else ""
        yield "expects", f"{metric.label if metric else it.expected.metric} {it.expected.direction}{gain}"
        if (came := _came(view, it, it.expected.metric)) != "":
            yield "measured", came
    if it.tune:
        names = "; ".join(f"{name} = {', '.join(values)}" for name, values in it.tune.items())
        explores = " (left to the sweep)" if SWEEP in run.agents and left_open(it) else ""
        yield "unsure of", names + explores
    if it.spend.calls:
        yield "cost", money.told(it.spend)


def _came(view: View, it: Iteration, metric: str) -> str:
    """The metric before and after, known for the selected iteration, and the gain."""
    parts = []
    show = view.shown.show
    if view.at.iteration == it.number and isinstance(show, Show) and show.parent is not None:
        before, after = (of.profiled.metrics.get(metric) if of.profiled else None for of in (show.parent, show.detail))
        known = describe(metric)
        unit = f" {known.unit}" if known is not None and known.unit else ""
        if before is not None and after is not None:
            parts.append(f"{figure(before)} → {figure(after)}{unit} ({moved(after, before)})")
    if it.verdict is not None:
        parts.append(f"gain {marks.gain_of(it)}")
    return ", ".join(parts)
