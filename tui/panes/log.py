"""Log: the step journal of the iteration with its times, and live output where it belongs between the steps."""

from functools import lru_cache

from textual.content import Content

from kpd.model.events import STEP_OF, Event, StepFact, StepStarted
from tui import marks
from tui.details import Problem
from tui.numbers import clock
from tui.output import AGENT, MOST_LINES, OutputLine
from tui.panes.parts import heading, nothing_selected, problem, sentence
from tui.story import sentence as told
from tui.text import BLANK, clean, line, wrapped
from tui.view import View

GUTTER = 11
"""Cells before what was printed: its channel, and a rule."""


def lines(view: View, width: int, height: int) -> list[Content]:
    if (nothing := nothing_selected(view, width)) is not None:
        return _notices(view) or nothing
    events = view.shown.events
    found: list[Content] = problem(events, width) if isinstance(events, Problem) else []
    journal = events if isinstance(events, tuple) else ()
    output = [one for one in view.output if one.run in ("", view.at.run) and one.iteration in (0, view.at.iteration)]
    output = [one for one in output if one.run == "" or one.iteration == view.at.iteration]
    found += _merged(view, journal, output, width)
    if not found:
        return sentence("The journal of this iteration appears here, with the output of its build and its jobs.", width)
    if not output and view.iteration is not None and view.iteration.outcome is not None:
        found += [BLANK, *sentence(_where(view), width)]
    return found


def _notices(view: View) -> list[Content]:
    """What the daemon noticed, for a task or a run as a whole; the newest last, as in any log."""
    if not view.state.notices:
        return []
    found = [heading("Notices", ("select an iteration for its own journal", ".muted"))]
    for notice in view.state.notices:
        mark = marks.of_notice(notice.level)
        found.append(
            line((f"{clock(notice.at, view.zone)}  ", ".muted"), (f"{mark.glyph} ", mark.style), clean(notice.text))
        )
    return found


def _where(view: View) -> str:
    show = view.shown.show
    folder = show.folder if show is not None and not isinstance(show, Problem) and show.folder else "its run folder"
    files = "build.log, check.json, timing.json"
    reply = "reply.md, " if view.iteration is not None and view.iteration.spend.calls else ""
    return f"Live output is kept while this screen is open. All of it is in {folder}: {reply}{files}."


def _merged(view: View, journal: tuple[Event, ...], output: list[OutputLine], width: int) -> list[Content]:
    """Output stands after the last event that had happened when it came."""
    found: list[Content] = []
    at = 0
    for nth, event in enumerate(journal):
        while at < len(output) and output[at].after < event.seq:
            found += _output(output[at], width)
            at += 1
        if _has_result(journal, nth):
            continue
        mark, text = told(event.fact)
        found.append(line((f"{clock(event.at, view.zone)}  ", ".muted"), (f"{mark.glyph} ", mark.style), text))
    for one in output[at:]:
        found += _output(one, width)
    return found


def _has_result(journal: tuple[Event, ...], nth: int) -> bool:
    """Whether this is the beginning of a step whose end comes next: one line a step is enough."""
    begun = journal[nth].fact
    following = journal[nth + 1].fact if nth + 1 < len(journal) else None
    if not isinstance(begun, StepStarted) or following is None:
        return False
    return begun.step == "record" or (isinstance(following, StepFact) and STEP_OF[type(following)] == begun.step)


@lru_cache(maxsize=2 * MOST_LINES)
def _output(one: OutputLine, width: int) -> tuple[Content, ...]:
    """What an agent writes is prose in long lines, and folded; tables and code of other programs are not."""
    folds = one.channel == AGENT and len(one.text) > width - GUTTER
    body = wrapped(one.text, width - GUTTER) if folds else [Content(one.text)]
    return tuple(
        Content.assemble((f"{one.channel if nth == 0 else '':>8} │ ", ".muted"), text) for nth, text in enumerate(body)
    )
