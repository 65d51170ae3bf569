"""Metrics: what moved most, then candidate and incumbent side by side, by group; what is missing says why, once."""

from collections.abc import Mapping

from textual.content import Content

from kpd.model.detail import Detail
from kpd.model.missing import MOST_NAMED, Lack, lacks
from kpd.model.nouns import Run
from tui.details import Problem, Show
from tui.panes.comparison import compared
from tui.panes.parts import nothing_selected, problem, sentence
from tui.panes.sides import Sides
from tui.text import BLANK, line, wrapped
from tui.view import View


def lines(view: View, width: int, height: int) -> list[Content]:
    if (nothing := nothing_selected(view, width)) is not None:
        return nothing
    show = view.shown.show
    if isinstance(show, Problem):
        return problem(show, width)
    if show is None:
        return sentence("Asking the daemon for the metrics of this iteration.", width)
    run = view.run
    assert run is not None
    return _whole(run, show, width)


def _whole(run: Run, show: Show, width: int) -> list[Content]:
    it, profiled = show.iteration, show.detail.profiled
    first = run.baseline
    sides = Sides(
        _metrics(show.detail),
        _metrics(None if it.parent == it.number else show.parent),
        _metrics(None if first is None or first.number in (it.number, it.parent) else show.baseline),
    )
    lacking = lacks(profiled.missing if profiled is not None else {})
    found = [_header(run, show).truncate(width, ellipsis=True)]
    if profiled is None:
        found += [BLANK, *sentence(_not_profiled(show), width)]
    found += [row for lack in lacking if _is_news(lack) for row in _lack(lack, width)]
    explained = show.detail.explained
    found += compared(sides, explained.changes if explained is not None else (), width)
    return found + [row for lack in lacking if not _is_news(lack) for row in _lack(lack, width)]


def _header(run: Run, show: Show) -> Content:
    it = show.iteration
    if it.parent == it.number:
        return line((f"{run.id}.{it.number}", ".strong"), (" is the baseline: nothing came before it", ".muted"))
    base = f", baseline {run.id}.{run.baseline.number}" if run.baseline else ""
    if run.baseline is not None and run.baseline.number == it.parent:
        base = ", the baseline"
    return line((f"{run.id}.{it.number}", ".strong"), (f" against its incumbent {run.id}.{it.parent}{base}", ".muted"))


def _not_profiled(show: Show) -> str:
    if show.iteration.outcome is None:
        return "The metrics appear when the profile step is done; it comes after the verdict."
    return "This iteration ended before it was profiled, so it has no metrics of its own."


def _metrics(detail: Detail | None) -> Mapping[str, float]:
    return detail.profiled.metrics if detail is not None and detail.profiled is not None else {}


def _is_news(lack: Lack) -> bool:
    """Whether so much is missing that a person should read why before looking for it."""
    return lack.count > MOST_NAMED


def _lack(lack: Lack, width: int) -> list[Content]:
    told = wrapped(f"not available: {lack.reason}", width, ".warn")
    return [BLANK, *told, *(wrapped(lack.what, width, ".muted", indent=2) if lack.what else [])]
