"""Renders the facts of a run as one HTML page: styles, script and charts are inside, nothing is fetched.

All text is escaped by the template engine. The page's own policy lets no script run but its own, known by its hash.
"""

import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kpd.model.headline import Headline, headline
from kpd.model.iteration import Iteration
from kpd.model.metrics import describe
from kpd.model.run import Run
from kpd.model.scores import unit
from kpd.model.spending import dollars
from kpd.model.status import Ended
from kpd.report import charts, tables
from kpd.report.facts import Facts
from kpd.report.importance import importance
from kpd.text import signs
from kpd.text.confinement import lacks, means
from kpd.text.endings import of_run
from kpd.text.foreign import visible
from kpd.text.gains import brief, column, ends, gain, times
from kpd.text.headlines import HOW, base, unconfirmed
from kpd.text.numbers import counted, duration, number
from kpd.text.verdicts import BASELINE_IS_TRUTH, UNCHECKED

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def page(facts: Facts) -> str:
    """Render the report of a run that has a baseline."""
    run = facts.run
    rows = tuple(tables.candidates(facts))
    shares = importance(rows)
    by_case = tables.cases(facts)
    drawn = {
        "progress": charts.progress(rows, _base(run)),
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
        nothing=_nothing(run),
        base=_base(run),
        base_short="baseline" if run.first_right is None else f"iteration {run.first_right}",
        ended=_ended(run),
        alerts=tuple(_alerts(facts, found)),
        charts={name: _safe(charts.svg(spec)) if spec else "" for name, spec in drawn.items()},
        cases=by_case,
        on_gpu=any(row.device_us is not None for row in by_case),
        floors=any(row.floor_us for row in by_case),
        weighted=len({row.weight for row in by_case}) > 1,
        changes=tuple(_change(facts, it) for it in facts.line),
        counters=tables.counters(facts),
        candidates=rows,
        points=sum(bool(row.iteration.point and row.over) for row in rows),
        environment=tuple((name, value) for name, value in _environment(facts) if value),
        commands=tuple(_commands(run)),
        protected=sorted(run.pinned.items()),
        style=_safe(_part("style.css")),
        script=_safe(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _base(run: Run) -> str:
    """Say what speed-ups are over."""
    return "the baseline" if run.first_right is None else f"iteration {run.first_right}, the first right candidate"


def _nothing(run: Run) -> str:
    """Say why there is no headline."""
    if run.baseline is not None and run.incumbent == run.baseline.number:
        return f"no gain over {_base(run)}"
    return f"the speed-up over {_base(run)} is not known"


def _headline(found: Headline) -> dict[str, str]:
    how = HOW[found.how] + (", provisional" if found.provisional else "")
    words = {"times": times(found.speedup.ratio), "interval": ends(found.speedup)}
    return words | {"over": base(found), "how": how, "text": times(found.speedup.ratio)}


def _ended(run: Run) -> str:
    word = signs.of_run(run).word
    return f"{word[0].upper()}{word[1:]}: {of_run(run) or counted(len(run.iterations), 'iteration')}."


def _alerts(facts: Facts, found: Headline | None) -> Iterator[str]:
    """Yield what a reader has to know before believing the headline."""
    run = facts.run
    if run.first_right is not None:
        yield f"The task's own files are no right baseline: {_base(run)}, is it."
    if run.unchecked:
        yield UNCHECKED[0].upper() + UNCHECKED[1:] + "."
    if any(detail.checked is not None and detail.checked.truth == "baseline" for detail in facts.details.values()):
        yield f"What is right is defined by {BASELINE_IS_TRUTH}."
    if found is not None and (why := unconfirmed(found)):
        yield f"The best could not be measured against the baseline: {why}."
    if found is not None and found.provisional:
        yield "Provisional: compute-sanitizer has not seen the best pass yet."
    if not run.over:
        yield "The run is still under way."
    if run.held:
        yield f"{counted(len(run.held), 'winner')} with flags still wait for a person: kpd held."
    if run.best is not None and run.best.override is not None:
        yield f"The best was accepted by {run.best.override.by} against its verdict."


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


def _environment(facts: Facts) -> Iterator[tuple[str, str]]:
    run, host = facts.run, facts.host
    yield "device", run.device
    if run.best is not None and run.best.score is not None and facts.card is not None:
        better = "less" if facts.card.direction == "lower" else "more"
        told = f"{number(run.best.score)} {unit(facts.card.score)} as measured then; {better} is better"
        yield "score of the best", told
    if host is not None:
        yield "system", host.system
        yield "driver", host.driver or _checked(facts, "gpu")
        yield "compiler", _checked(facts, "nvcc") if run.device_id not in ("", "cpu") else host.compiler
        yield "profiler", _checked(facts, "ncu") if run.device_id not in ("", "cpu") else host.counters
    best = facts.details.get(run.incumbent) if run.incumbent is not None else None
    if best is not None and best.built is not None:
        yield "flags of the best", best.built.flags
    yield "begun", _day(run.started or run.queued)
    if isinstance(run.status, Ended):
        yield "ended", f"{_day(run.status.at)}, after {duration(run.status.at - (run.started or run.queued))}"
    yield (
        "cost",
        f"{dollars(run.spend.usd)} for {counted(run.spend.calls, 'call')} of models" if run.spend.calls else "",
    )
    if run.baseline is not None and run.baseline.verdict is not None:
        noise = run.baseline.verdict
        yield "noise floor", f"{_base(run)} against itself: {gain(noise.gain)} over {noise.processes} processes"
    if run.confinement is not None:
        yield "sandbox", "; ".join((means(run.confinement), *lacks(run.confinement)))
    yield "agents", ", ".join(run.agents)
    yield "kpd", facts.kpd


def _checked(facts: Facts, name: str) -> str:
    """Return what the check of the host with this name found."""
    return next((check.found for check in facts.host.checks if check.name == name), "") if facts.host else ""


def _commands(run: Run) -> Iterator[str]:
    if run.incumbent is not None:
        yield f"kpd show {run.id}.{run.incumbent} --rederive    # the verdict again, from the recorded times"
    yield f"kpd run {run.task} --agent {run.agent} --iterations {run.budget.iterations}"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


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
    filters = {"number": number, "factor": charts.factor, "interval": column, "percent": _percent, "point": _point}
    made.filters.update(filters)
    return made


def _part(name: str) -> str:
    return files("kpd.report").joinpath("page", name).read_text("utf-8")


def _safe(markup: str) -> Any:
    """Mark text of kpd's own, or an SVG whose text the renderer has escaped, as markup."""
    from markupsafe import Markup

    return Markup(markup)
