"""Answers queries about comparisons of built tools."""

from typing import Any

from kpd.daemon.comparison_report import ToolUse, report, use_of
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.model.codec import jsonable
from kpd.model.comparison import ToolComparison
from kpd.model.comparisons import is_over, runs_of
from kpd.model.facts.steps import Proposed
from kpd.model.run import Run
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import SkillsRead, ToolsGiven
from kpd.model.trials import ToolCalled
from kpd.operations.references import comparison_ref
from kpd.text import comparisons as text


def comparisons(sources: Sources) -> Any:
    """Return all comparisons in brief, the oldest first."""
    return [_brief(sources, one) for one in sources.state.comparisons.values()]


def comparison(sources: Sources, id: str) -> Any:
    """Return the report of a comparison. Raises DaemonError, StoreError."""
    found = comparison_ref(sources.state, id)
    runs = runs_of(sources.state, id)
    with sources.log() as log:
        used = [(run, ToolUse() if log is None else _use(log, run, sources.state.tools)) for run in runs]
    made = report(found, is_over(sources.state, found), used)
    outcomes = [
        {**jsonable(one), "reason": text.invalid(one.invalid, run)} for one, run in zip(made.runs, runs, strict=True)
    ]
    shift = made.times
    told_times = shift and {**jsonable(shift), "text": text.interval(shift.median, shift.low, shift.high)}
    told = text.conclusion(made.conclusion, found.trials, made.p, found.stopped)
    return {**_brief(sources, found), **jsonable(made), "runs": outcomes, "times": told_times, "text": told}


def _brief(sources: Sources, found: ToolComparison) -> dict[str, Any]:
    runs = runs_of(sources.state, found.id)
    over = is_over(sources.state, found)
    known = sources.state.tools
    shown = [known[ref].shown if ref in known else ref for ref in found.tools]
    body = {name: value for name, value in jsonable(found).items() if name not in ("files", "settings")}
    ended = sum(run.over for run in runs)
    return {**body, "shown": shown, "over": over, "ended": ended, "trials": found.trials,
            "now": next((run.id for run in runs if not run.over), None)}  # fmt: skip


def _use(log: EventStore, run: Run, known: dict[str, ToolVersion]) -> ToolUse:
    kinds = (ToolsGiven, ToolCalled, SkillsRead, Proposed)
    found = [event for kind in kinds for event in log.read(run=run.id, kind=kind.kind())]
    events = sorted(found, key=lambda event: event.seq)
    return use_of(run, events, {ref for ref, one in known.items() if one.skill})
