"""Renders the facts of a run as one HTML page: styles, script and charts are inside, nothing is fetched.

All text is escaped by the template engine. The page's own policy lets no script run but its own, known by its hash.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kpd import __version__
from kpd.model.headline import Headline, headline
from kpd.model.iteration import Iteration
from kpd.model.metrics import describe
from kpd.report import charts, overview, tables, words
from kpd.report.facts import Facts
from kpd.report.importance import importance
from kpd.report.overview import ReportedRun
from kpd.text.foreign import visible
from kpd.text.gains import brief, column, ends, gain, times
from kpd.text.headlines import HOW, base
from kpd.text.numbers import counted, number

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def page(facts: Facts) -> str:
    """Render the report of a run that has a baseline."""
    run = facts.run
    rows = tuple(tables.candidates(facts))
    shares = importance(rows)
    by_case = tables.cases(facts)
    drawn = {
        "progress": charts.progress(rows, words.base(run)),
        "cases": charts.case_times(by_case),
        "importance": charts.importances(shares),
    }
    found = headline(run)
    script = _part("tables.js")
    return _template("run.html.jinja").render(
        run=run,
        kpd=facts.kpd,
        summary=facts.card.summary if facts.card else "",
        headline=_headline(found) if found else None,
        nothing=words.nothing(run),
        base=words.base(run),
        base_short="baseline" if run.first_right is None else f"iteration {run.first_right}",
        ended=words.ended(run),
        alerts=tuple(words.alerts(facts, found)),
        charts={name: _safe(charts.svg(spec)) if spec else "" for name, spec in drawn.items()},
        cases=by_case,
        on_gpu=any(row.device_us is not None for row in by_case),
        floors=any(row.floor_us for row in by_case),
        weighted=len({row.weight for row in by_case}) > 1,
        changes=tuple(_change(facts, it) for it in facts.line),
        counters=tables.counters(facts),
        candidates=rows,
        points=sum(bool(row.iteration.point and row.over) for row in rows),
        environment=tuple((name, value) for name, value in words.environment(facts) if value),
        commands=tuple(words.commands(run)),
        protected=sorted(run.pinned.items()),
        **_own(script),
    )


def _headline(found: Headline) -> dict[str, str]:
    how = HOW[found.how] + (", provisional" if found.provisional else "")
    figures = {"times": times(found.speedup.ratio), "interval": ends(found.speedup)}
    return figures | {"over": base(found), "how": how, "text": times(found.speedup.ratio)}


def _change(facts: Facts, it: Iteration) -> dict[str, Any]:
    """Return an accepted iteration with its gain, what was expected of it, and its diff as markup."""
    lines = visible(facts.diffs.get(it.number, "")).splitlines()
    return {
        "it": it,
        "gain": gain(it.verdict.gain) if it.verdict else "",
        "expected": _expected(it),
        "diff": _diff(lines),
        "added": sum(line.startswith("+") and not line.startswith("+++") for line in lines),
        "removed": sum(line.startswith("-") and not line.startswith("---") for line in lines),
    }


def _expected(it: Iteration) -> str:
    if it.expected is None:
        return ""
    metric = describe(it.expected.metric)
    told = f"{metric.label if metric else it.expected.metric} {it.expected.direction}"
    return told if it.expected.gain_pct is None else f"{told}, {brief(it.expected.gain_pct)}"


def _diff(lines: list[str]) -> Any:
    """Return a diff as markup whose added and removed lines are marked."""
    from markupsafe import Markup

    marks = {"+": Markup("<ins>{}</ins>\n"), "-": Markup("<del>{}</del>\n")}
    return Markup().join(marks.get(line[:1], Markup("{}\n")).format(line) for line in lines)


def overview_page(runs: Sequence[ReportedRun]) -> str:
    """Render the report of many runs: the best of each task on each device, and all runs."""
    found = overview.best(runs)
    script = _part("tables.js")
    return _template("all.html.jinja").render(
        devices=overview.devices(runs),
        tasks=tuple(dict.fromkeys(task for task, _ in found)),
        best=found,
        runs=runs,
        kpd=__version__,
        day=words.day,
        **_own(script),
    )


def _own(script: str) -> dict[str, Any]:
    """Return the style and the script of a page, and the hash by which its policy knows the script."""
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"style": _safe(_part("style.css")), "code": _safe(script), "script_hash": script_hash}


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0f} %"


def _point(point: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _template(name: str) -> "Template":
    return _environment_of_templates().from_string(_part(name))


@cache
def _environment_of_templates() -> "Environment":
    from jinja2 import Environment, StrictUndefined

    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    filters = {
        "number": number,
        "factor": charts.factor,
        "interval": column,
        "percent": _percent,
        "counted": counted,
        "point": _point,
    }
    made.filters.update(filters)
    return made


def _part(name: str) -> str:
    return files("kpd.report").joinpath("page", name).read_text("utf-8")


def _safe(markup: str) -> Any:
    """Mark text of kpd's own, or an SVG whose text the renderer has escaped, as markup."""
    from markupsafe import Markup

    return Markup(markup)
