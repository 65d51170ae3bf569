"""Metrics: candidate, incumbent and baseline side by side, by group; what is missing says why."""

from textual.content import Content

from kpd.model.detail import Detail
from kpd.model.metrics import METRICS, PER_CASE, Metric, describe, grouped
from kpd.model.nouns import Run
from tui.details import Problem, Show
from tui.numbers import change, delta, figure
from tui.panes.parts import nothing_selected, problem, sentence
from tui.table import Cell, Column, table
from tui.text import BLANK, clean, line, wrapped
from tui.view import View

SAME_PCT = 0.05
"""A smaller change is noise of the last digit and gets no colour."""

_COLUMNS = (Column("candidate", keep=9), Column("incumbent", keep=6), Column("Δ", keep=7), Column("baseline", keep=5))
_SHORT = (Column("cand.", keep=9), Column("inc.", keep=6), Column("Δ", keep=7), Column("base", keep=5))
_WIDE = 64

Sides = tuple[dict[str, float], dict[str, float], dict[str, float]]
"""The metrics of candidate, incumbent and baseline."""
_GROUP_TITLES = {
    "speed": "Speed",
    "counters": "Hardware counters",
    "hot loop": "Hot loop",
    "speed of light": "Speed of light",
    "memory": "Memory",
    "warp stalls": "Warp stalls",
    "occupancy": "Occupancy",
    "instructions": "Instructions",
    "compiler": "Compiler",
}


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
    return _compared(run, show, width)


def _compared(run: Run, show: Show, width: int) -> list[Content]:
    it = show.iteration
    mine = _metrics(show.detail)
    parent = {} if it.parent == it.number else _metrics(show.parent)
    baseline = {} if run.baseline is None or run.baseline.number == it.number else _metrics(show.baseline)
    sides = (mine, parent, baseline)
    found = [_header(run, show)]
    if show.detail.profiled is None:
        found += [BLANK, *sentence(_not_profiled(show), width)]
    if rows := _rows(sides):
        columns = (Column("", right=False, least=14), *(_COLUMNS if width >= _WIDE else _SHORT))
        found += table(columns, rows, width)
    return found + _missing(show.detail.profiled.missing if show.detail.profiled else {}, width)


def _rows(sides: Sides) -> list[tuple[Cell, ...]]:
    """All groups as rows of one table, so that their figures stand in the same columns."""
    names = {name for side in sides for name in side}
    rows: list[tuple[Cell, ...]] = []
    for group, metrics in grouped(names).items():
        whole = [metric for metric in metrics if "[" not in metric.name]
        rows += _group(_GROUP_TITLES[group], [_row(metric, _labelled(metric), sides) for metric in whole])
    for name in PER_CASE:
        cases = [metric for one in sorted(names) if one.startswith(f"{name}[") and (metric := describe(one))]
        label = _labelled(METRICS[name])
        title = f"{label[:1].upper()}{label[1:]}, by case"
        rows += _group(title, [_row(metric, clean(metric.name[len(name) + 1 : -1]), sides) for metric in cases])
    unknown = [Metric(name, clean(name), "", "speed", None) for name in sorted(names) if describe(name) is None]
    return rows + _group("Others", [_row(metric, metric.label, sides) for metric in unknown])


def _group(title: str, rows: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    return [("", "", "", "", ""), ((title, ".heading"), "", "", "", ""), *rows] if rows else []


def _header(run: Run, show: Show) -> Content:
    it = show.iteration
    if it.parent == it.number:
        return line((f"{run.id}.{it.number}", ".strong"), (" is the baseline: nothing came before it", ".muted"))
    base = f", baseline {run.id}.{run.baseline.number}" if run.baseline else ""
    return line((f"{run.id}.{it.number}", ".strong"), (f" against its incumbent {run.id}.{it.parent}{base}", ".muted"))


def _not_profiled(show: Show) -> str:
    if show.iteration.outcome is None:
        return "The metrics appear when the profile step is done; it comes after the verdict."
    return "This iteration ended before it was profiled, so it has no metrics of its own."


def _metrics(detail: Detail | None) -> dict[str, float]:
    return dict(detail.profiled.metrics) if detail is not None and detail.profiled is not None else {}


def _row(metric: Metric, label: str, sides: Sides) -> tuple[Cell, ...]:
    now, before, first = (side.get(metric.name) for side in sides)
    moved = delta(now, before)
    return label, figure(now), figure(before), (change(moved), _style(metric, moved)), figure(first)


def _labelled(metric: Metric) -> str:
    return f"{metric.label}, {metric.unit}" if metric.unit else metric.label


def _style(metric: Metric, moved: float | None) -> str:
    if moved is None or abs(moved) < SAME_PCT or metric.better is None:
        return ".muted"
    return ".good" if (moved > 0) == (metric.better == "up") else ".bad"


def _missing(missing: dict[str, str], width: int) -> list[Content]:
    """Metrics that could not be had, gathered by their reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in missing.items():
        metric = describe(name)
        reasons.setdefault(reason, []).append(metric.label if metric is not None else clean(name))
    found: list[Content] = []
    for reason, labels in reasons.items():
        found += [BLANK, *wrapped(f"not available: {reason}", width, ".warn")]
        found += wrapped(", ".join(labels), width, ".muted", indent=2) if labels != ["all"] else []
    return found
