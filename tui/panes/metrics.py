"""Draws the Metrics tab: the largest changes, the roofline, candidate and incumbent side by side, missing metrics."""

from collections.abc import Mapping

from textual.content import Content

from kpd.model.detail import Detail
from kpd.model.metrics import METRICS
from kpd.model.missing import MOST_NAMED, MissingMetrics, missing_by_reason
from kpd.model.run import Run
from tui.format.text import BLANK, line, wrapped
from tui.model.answers import Problem, Show
from tui.model.view import View
from tui.panes import best_cases
from tui.panes.cases import cases
from tui.panes.comparison import compared, moved_most
from tui.panes.parts import nothing_selected, problem, sentence
from tui.panes.roofline import Side, roof_of, roofline
from tui.panes.sides import Sides

TALL = 26
"""Rows of a pane in which a higher chart leaves something of the table in sight."""


def lines(view: View, width: int, height: int) -> list[Content]:
    if view.iteration is None and view.run is not None and view.run.iterations:
        return best_cases.lines(view, view.run, width)
    if (nothing := nothing_selected(view, width)) is not None:
        return nothing
    show = view.shown.show
    if isinstance(show, Problem):
        return problem(show, width)
    if show is None:
        return sentence("Asking the daemon for the metrics of this iteration.", width)
    run = view.run
    assert run is not None
    return _whole(view, run, show, width, height)


def _whole(view: View, run: Run, show: Show, width: int, height: int) -> list[Content]:
    profiled, explained = show.detail.profiled, show.detail.explained
    sides = _sides(view, run, show)
    lacking = missing_by_reason(profiled.missing if profiled is not None else {})
    found = _header(view, run, show, sides, width)
    if profiled is None:
        found += [BLANK, *sentence(_not_profiled(show), width)]
    found += [row for lack in lacking if _is_news(lack) for row in _lack(lack, width)]
    for block in (
        moved_most(sides, explained.changes if explained is not None else (), width),
        _roofline(view, run, show, sides, width, height),
    ):
        found += [BLANK, *block] if block else []
    table = compared(sides, width)
    found += [BLANK, *table] if table else []
    found += _configs(show, sides, width)
    found += [row for lack in lacking if not _is_news(lack) for row in _lack(lack, width)]
    best = best_cases.below(view, run, width)
    return [*found, BLANK, *best] if best else found


def _sides(view: View, run: Run, show: Show) -> Sides:
    it, first = show.iteration, run.baseline
    mine, parent = _metrics(show.detail), _metrics(None if it.parent == it.number else show.parent)
    missing = show.detail.profiled.missing if show.detail.profiled is not None else {}
    many = {lack.reason for lack in missing_by_reason(missing) if _is_news(lack)}
    lacking = frozenset(name for name, reason in missing.items() if name in METRICS and reason not in many)
    marked = _marked(view)
    if marked is not None:
        return Sides(mine, parent, _metrics(marked.detail), "marked", lacking)
    alone = first is None or first.number in (it.number, it.parent)
    return Sides(mine, parent, _metrics(None if alone else show.baseline), "baseline", lacking)


def _marked(view: View) -> Show | None:
    """Return the marked iteration; None where it is one that is shown anyway."""
    marked, it = view.shown.marked, view.iteration
    if view.mark is None or it is None or not isinstance(marked, Show):
        return None
    here = view.mark.run == view.at.run
    return None if here and view.mark.iteration in (it.number, it.parent) else marked


def _roofline(view: View, run: Run, show: Show, sides: Sides, width: int, height: int) -> list[Content]:
    baseline = show.iteration.number == show.iteration.parent
    third = ("◇", ".accent", "marked") if sides.third_is == "marked" else ("◆", ".muted", "baseline")
    incumbent = show.iteration.parent == (run.baseline.number if run.baseline else None)
    second = ("◆", ".muted", "baseline") if incumbent else ("▲", ".good", "incumbent")
    first = ("◆", ".strong", "baseline") if baseline else ("●", ".strong", "candidate")
    named = ((first, sides.mine), (second, sides.parent), (third, sides.third))
    known = [Side(*name, metrics) for name, metrics in named if metrics]
    if not sides.mine:
        return []
    return roofline(known, sides.cases, roof_of(view.state, run), width, height >= TALL)


def _configs(show: Show, sides: Sides, width: int) -> list[Content]:
    """Draw the times of the cases, where no metric of a single case is known."""
    if sides.by_case or not sides.mine or show.detail.timed is None or not show.detail.timed.cases:
        return []
    return [
        BLANK,
        *cases(show.iteration, show.detail, width),
        *sentence("The metrics above are of all cases together: this profile has none of a case alone.", width),
    ]


def _header(view: View, run: Run, show: Show, sides: Sides, width: int) -> list[Content]:
    it = show.iteration
    if it.parent == it.number:
        return [
            line((f"{run.id}.{it.number}", ".strong"), (" is the baseline: nothing came before it", ".muted")).truncate(
                width, ellipsis=True
            )
        ]
    is_first = run.baseline is not None and run.baseline.number == it.parent
    third = f", baseline {run.id}.{run.baseline.number}" if run.baseline else ""
    third = ", the baseline" if is_first else third
    if sides.third_is == "marked" and view.mark is not None:
        third = f", marked {view.mark.ref} as measured then"
    told = f"against its incumbent {run.id}.{it.parent}{third}"
    head = line((f"{run.id}.{it.number}", ".strong"), (f" {told}", ".muted"))
    return [head.truncate(width, ellipsis=True)]


def _not_profiled(show: Show) -> str:
    if show.iteration.outcome is None:
        return "The metrics appear when the profile step is done; it comes after the verdict."
    return "This iteration ended before it was profiled, so it has no metrics of its own."


def _metrics(detail: Detail | None) -> Mapping[str, float]:
    return detail.profiled.metrics if detail is not None and detail.profiled is not None else {}


def _is_news(lack: MissingMetrics) -> bool:
    """Return whether so many metrics are missing that the reason should come first."""
    return lack.count > MOST_NAMED


def _lack(lack: MissingMetrics, width: int) -> list[Content]:
    told = wrapped(f"not available: {lack.reason}", width, ".warn")
    return [BLANK, *told, *(wrapped(lack.what, width, ".muted", indent=2) if lack.what else [])]
