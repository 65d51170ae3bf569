"""Draws the charts of a report: Vega-Lite specifications, rendered to SVG whose colours are those of the page."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from kpd.model.verdicts import Speedup
from kpd.report.tables import ReportedCandidate, ReportedCase
from kpd.text.gains import column, times

Spec = dict[str, Any]
TONES = {"strong": "accent", "good": "good", "warn": "warn", "bad": "bad", "accent": "accent", "muted": "muted"}
"""The colour of the page, a variable of its style sheet, for each tone of a sign."""
INK = "currentColor"
WIDTH = 880
"""Pixels between the axes; the page scales a chart to its own width."""
FEW = 10
"""Below so many iterations each has its number on the axis; the renderer would number halves of them."""
MOST_CASES = 60
MARKS = {
    "baseline": ("var(--muted)", "circle"),
    "best": ("var(--good)", "diamond"),
    "roofline": ("var(--accent)", "square"),
}
"""The colour and the shape of what stands in the chart of the cases."""
_CONFIG: Spec = {
    "background": None,
    "font": "inherit",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": INK, "domainColor": "var(--rule)", "tickColor": "var(--rule)",
        "gridColor": "var(--rule)", "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelLimit": 260,
    },
    "text": {"color": INK, "fontSize": 12},
}  # fmt: skip


def svg(spec: Spec) -> str:
    """Render a specification. The result has no script, and refers to nothing outside."""
    import vl_convert  # 84 MB, and only for reports

    return str(vl_convert.vegalite_to_svg({"config": _CONFIG, **spec}, vl_version="6.4"))


def progress(rows: Iterable[ReportedCandidate], base: str = "the baseline") -> Spec | None:
    """Return the chart of a run: the speed-up over its `base` of each judged candidate, with its interval.

    A line connects the accepted ones. None where nothing was judged.
    """
    values = [_point(row, row.over) for row in rows if row.over and row.over.low > 0 and isfinite(row.over.high)]
    if not values:
        return None
    values.insert(0, {"iteration": 0, "ratio": 1, "low": 1, "high": 1, "colour": INK, "won": True, "told": "baseline"})
    last = max(value["iteration"] for value in values)
    few: Spec = {"values": list(range(last + 1)), "format": "d"} if last < FEW else {"tickMinStep": 1}
    x = _axis("iteration", "iteration", axis={**few, "grid": False})
    y = _axis("ratio", f"× the speed of {base}", scale={"type": "log", "nice": False, "padding": 12})
    colour: Spec = {"field": "colour", "type": "nominal", "scale": None, "legend": None}
    line: Spec = {"type": "line", "interpolate": "step-after", "color": "var(--good)", "opacity": 0.6}
    interval: Spec = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour}
    point: Spec = {"x": x, "y": y, "color": colour, "description": {"field": "told"}}
    layers = [
        {"transform": [{"filter": "datum.won"}], "mark": line, "encoding": {"x": x, "y": y}},
        {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": interval},
        {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}, "encoding": point},
    ]
    return {"width": WIDTH, "height": 260, "data": {"values": values}, "layer": layers}


def _point(row: ReportedCandidate, over: Speedup) -> Spec:
    it = row.iteration
    return {
        "iteration": it.number,
        "ratio": over.ratio,
        "low": over.low,
        "high": over.high,
        "colour": f"var(--{TONES[row.sign.tone]})",
        "won": it.outcome == "accepted",
        "told": f"iteration {it.number}, {row.sign.word}: {column(over)}",
    }


def case_times(rows: Sequence[ReportedCase]) -> Spec | None:
    """Return the chart of the cases: the time before and after, and the roofline's bound, on one logarithmic axis.

    None without times, and where there are too many cases for a chart.
    """
    values = [
        {"case": row.case, "us": us, "what": what}
        for row in rows
        for what, us in (("baseline", row.before_us), ("best", row.after_us), ("roofline", row.floor_us))
        if us
    ]
    if not values or len(rows) > MOST_CASES:
        return None
    names = [name for name in MARKS if any(value["what"] == name for value in values)]
    y = {"field": "case", "type": "nominal", "title": None, "sort": [row.case for row in rows], "axis": {"grid": True}}
    x = _axis("us", "µs a call", scale={"type": "log", "nice": False, "padding": 16})
    encoding = {"y": y, "x": x, "color": _marked(names, 0), "shape": _marked(names, 1)}
    moved = [{"case": row.case, "before": row.before_us, "after": row.after_us} for row in rows if row.before_us]
    way = {"y": y, "x": {**x, "field": "before"}, "x2": {"field": "after"}}
    layers = [
        {
            "data": {"values": moved},
            "mark": {"type": "rule", "color": "var(--rule)", "strokeWidth": 3},
            "encoding": way,
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1, "strokeWidth": 3},
            "encoding": encoding,
        },
    ]
    return {"width": WIDTH - 120, "height": {"step": 30}, "layer": layers}


def _axis(field: str, title: str | None, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _marked(names: list[str], at: int) -> Spec:
    """Return the encoding of what a mark stands for, by its colour (0) or its shape (1)."""
    legend = {"title": None, "orient": "top", "labelColor": INK}
    return {
        "field": "what",
        "type": "nominal",
        "legend": legend,
        "scale": {"domain": names, "range": [MARKS[name][at] for name in names]},
    }


def importances(shares: dict[str, float]) -> Spec | None:
    """Return the bars of how much each parameter of a sweep matters; None without any."""
    if not shares:
        return None
    values = [{"parameter": name, "share": 100 * share} for name, share in shares.items()]
    x = _axis("share", "% of what tells the fast points from the others")
    y = {"field": "parameter", "type": "nominal", "title": None, "sort": "-x"}
    return {
        "width": WIDTH - 120,
        "height": {"step": 24},
        "data": {"values": values},
        "mark": {"type": "bar", "color": "var(--accent)"},
        "encoding": {"x": x, "y": y},
    }


def factor(ratio: float | None) -> str:
    """Format a speed-up without an interval; empty where it is not known."""
    return "" if ratio is None else times(ratio)
