"""Answers queries of clients from the state, the log and the files; changes nothing.

The same functions serve the socket and, when no daemon runs, a command-line verb. Arguments may be left out or null,
except `iteration`, `name`, `id` and `task` where they are listed first. A run is given in brief: without `iterations`,
`files`, `folder` and `pending_edit`, but with `count` (of its iterations), `current`, `best` and `baseline`. Sentences
are given beside the data: `reason`, why a run or an iteration ended or is paused, `waits`, what a run waits for, and
`prepares` and `prepared`, which phase before its first iteration it is at, and what these came to.
The environment is that of the process that answers.

    status    {version, pid (null: no daemon), workspace, seq, at, held (in words), hold, active, begun, queued,
               runs: {id: Run}, hosts: {name: HostCard}, tasks: {name: TaskCard}, notices, playback: Playback or null,
               deployments: [{project, deployment: Deployment, cut, waits, sign, text}]}   of winners, oldest first
    queue     {held, hold, active, begun, queued}            active: the newest of those begun, or null
    log       [{seq, at, kind, body}]                  limit=200, run: the newest events, oldest first
    events    [{seq, at, kind, body}]                  after=0, limit=1000, run, iteration: the next events
    show      {run: Run, iteration: Iteration, detail: Detail, parent, baseline: Detail or null, headline, folder}
                                                       iteration; headline: its speed-up over the baseline, or null;
                                                       parent, baseline: their times are of the iteration's contest
    diff      {text, from, to}                         iteration, against=its parent
    change    {text, diff}                             deployment=its project#number: the diff that waits for a person
                                                       in production, and its hash, which an approval names
    file      {text, truncated}                        iteration, name
    rederive  {recorded, rederived}                    iteration: the verdict as judged, and from timing.json again
    hosts     [HostCard]
    tasks     [TaskCard]
    rules     [{id, severity, finding, condition, action, fired, tried, accepted, median_gain_pct, stand}]
                                                       median_gain_pct: null where nothing is measured
                                                       run: whose operator pinned or banned them; else the active one
    cases     {run, incumbent, dispatch, cases: [{case, weight, best, speedups: {iteration: {ratio, low, high}}}]}
                                                       run: against the baseline; the incumbent's slowest case first;
                                                       dispatch: the best of each case against the incumbent, or null
    terms     {run, status, agent, model, stands, budget, counted, in_vain, spend, score}   run: what it goes on under,
                                                       and what of its budget is used: iterations, patience, dollars
    cost      {days: {date: Spend}, runs: [{run, task, spend, limit_usd, cut, unseen, purposes, models, phases,
               iterations}],
               today_usd, runs_usd,                    run; today_usd: what counts towards the day's limit (null: not
               gpu_hours: {run: hours}}                known), runs_usd: of that, in runs; hours of allocations
    skills    [{id, signal}]
    skill     {id, signal, body}                       id
    memory    {text}                                   task
    tools     [{name, description, schema, read_only}]       of kpd mcp, for clients outside of sessions
    tool      {text, …}                                name, args: a call of one of them; args may name the `run`
    tool_calls {calls: [{run, server, tool, calls, failed, median_ms, longest_ms, arguments, answer_bytes}],
               trials: [{run, iteration, ends: {end: count}, device_s}]}     run: of agents in sessions
    toolbox   [{ref, state, …ToolVersion, calls, failed, sessions, started, read, used}]   tools that agents have built;
                                                       sessions that had them, started their servers, called one;
                                                       effect: attempts having and lacking it, with their gains
    comparisons [{id, …, shown, trials, over, ended, now}]   of built tools; now: the run under way, or null
    comparison {…, conclusion, text, runs, plain, tools, times, wins, p, p_valid, least_p}   id: its report
    model_key {variable, trouble}                      trouble: why the environment has no key there; empty: it has

Two more queries only the daemon can answer: `glance` (commands.py) and `diary` (log_tail.py).
"""

import time
from collections.abc import Callable
from typing import Any

from kpd.daemon import artefacts, comparison_views, contests, knowledge_views, tool_calls
from kpd.daemon.accounting import account, gpu_hours, rederived, terms
from kpd.daemon.sources import Sources
from kpd.engine.ledger import spent_by_runs, spent_today
from kpd.model import codec
from kpd.model.facts.calls import Billed
from kpd.operations.calling import checked_call
from kpd.operations.references import iteration_ref, run_ref
from kpd.text import json_views
from kpd.text.waits import hold
from kpd.wire import DaemonError
from kpd.workspace.deployments import OpenDeployment
from kpd.workspace.environment import keys

MOST_EVENTS = 10_000  # of one answer


def answer(what: str, args: dict[str, Any], sources: Sources) -> Any:
    """Answer one query with plain JSON values. Raises DaemonError, StoreError."""
    if what not in _VIEWS:
        raise DaemonError("usage", f"unknown query {what!r}", f"known: {', '.join(_VIEWS)}")
    view = _VIEWS[what]
    return codec.jsonable(view(sources, **checked_call(f"query {what}", view, args)))


# ── the state ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _status(sources: Sources) -> Any:
    state = sources.state
    return {
        "version": state.version,
        "pid": state.pid,
        "workspace": state.workspace,
        "seq": state.seq,
        "at": state.at,
        **_queue(sources),
        "runs": {run.id: json_views.run(run) for run in state.runs.values()},
        "hosts": state.hosts,
        "tasks": state.tasks,
        "deployments": [json_views.deployment(card) for card in state.deployments.values()],
        "notices": [json_views.noticed(one) for one in state.notices],
        "playback": state.playback,
    }


def _queue(sources: Sources) -> dict[str, Any]:
    state = sources.state
    active = None if state.active is None else json_views.run(state.active)
    begun, queued = [json_views.run(run) for run in state.begun], [json_views.run(run) for run in state.queue]
    return {"held": hold(state.held), "hold": state.held, "active": active, "begun": begun, "queued": queued}


# ── the log ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _log(sources: Sources, limit: int = 200, run: str | None = None) -> Any:
    with sources.log(run) as log:
        return [] if log is None else [json_views.event(event) for event in log.tail(_some(limit), run)]


def _events(
    sources: Sources, after: int = 0, limit: int = 1000, run: str | None = None, iteration: int | None = None
) -> Any:
    with sources.log(run) as log:
        found = () if log is None else log.read(after, _some(limit), run, iteration)
        return [json_views.event(event) for event in found]


def _some(limit: int) -> int:
    return max(0, min(limit, MOST_EVENTS))


def _cost(sources: Sources, run: str | None = None) -> Any:
    state = sources.state
    runs = [run_ref(state, run)] if run else [one for one in state.runs.values() if one.spend.calls]
    with sources.log(run) as log:
        told = [
            account(one, log.read(run=one.id, kind=Billed.kind()) if log else (), state.deployments_of(one))
            for one in runs
        ]
    now = time.time()
    today = {"today_usd": spent_today(state, sources.workspace.root, now), "runs_usd": spent_by_runs(state, now)}
    return {"days": state.days, "runs": told, "gpu_hours": gpu_hours(sources.workspace, state, now), **today}


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _diff(sources: Sources, iteration: str, against: str | None = None) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    parent = contests.parent_of(run, it)
    if against is not None:
        old_run, old = iteration_ref(sources.state, against)
        if old_run.task != run.task:
            raise DaemonError("usage", f"{old_run.id} is a run of {old_run.task}, {run.id} of {run.task}")
    elif parent is not None:
        old_run, old = run, parent
    else:
        raise DaemonError("usage", f"{run.id}.{it.number} is a baseline: it changed nothing", "name two to compare")
    before, after = f"{old_run.id}.{old.number}", f"{run.id}.{it.number}"
    text = artefacts.difference(
        sources.files(old_run, old.number).candidate, sources.files(run, it.number).candidate, before, after
    )
    return {"text": text, "from": before, "to": after}


def _change(sources: Sources, deployment: str) -> Any:
    if (card := sources.state.deployments.get(deployment)) is None or not card.waits:
        raise DaemonError("refused", f"{deployment} does not wait for a person", "kpd held shows what does")
    opened = OpenDeployment(sources.workspace.deployments / card.project, card.deployment.number)
    if (shown := opened.shown) is None:
        what = f"the diff of {deployment} is not the one that waits"
        raise DaemonError("refused", what, f"somebody has changed the file: kpd project decline {card.project}")
    return {"text": shown.diff, "diff": shown.hash}


def _file(sources: Sources, iteration: str, name: str) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    text, truncated = artefacts.text(sources.files(run, it.number).folder, name)
    return {"text": text, "truncated": truncated}


def _rederive(sources: Sources, iteration: str) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    with sources.log() as log:
        found = rederived(log, sources.files(run, it.number), run, it.number)
    recorded = None if it.verdict is None else json_views.judged(it.verdict)
    return {"recorded": recorded, "rederived": json_views.judged(found)}


def _rules(sources: Sources, run: str | None = None) -> Any:
    state = sources.state
    of = run_ref(state, run) if run else state.active
    return knowledge_views.rules(state.runs.values(), of.stands if of is not None else {})


def _terms(sources: Sources, run: str | None = None) -> Any:
    """Return the terms of the named run, else of the newest run that has begun, else of the newest."""
    state = sources.state
    of = state.active or run_ref(state) if run is None else run_ref(state, run)
    return terms(of, state.direction(of), gpu_hours(sources.workspace, state, time.time()).get(of.id, 0.0))


def _skill(sources: Sources, id: str) -> Any:
    return knowledge_views.skill(sources.workspace, id)


def _memory(sources: Sources, task: str) -> Any:
    return knowledge_views.memory_of(sources.workspace, task)


def _tool_calls(sources: Sources, run: str | None = None) -> Any:
    with sources.log(run) as log:
        return {"calls": [], "trials": [], "skills_read": []} if log is None else tool_calls.summary(log, run)


def _toolbox(sources: Sources) -> Any:
    with sources.log() as log:
        return [] if log is None else tool_calls.toolbox(log, sources.state.tools.values(), sources.state.runs.values())


def _tools(sources: Sources) -> Any:
    from kpd.engine.tools.catalogue import ANYBODY

    return [tool.declaration(of_run=True) for tool in ANYBODY.values()]


def _tool(sources: Sources, name: str, args: dict[str, Any] | None = None) -> Any:
    from kpd.engine.tools.catalogue import ANYBODY
    from kpd.engine.tools.desk import Desk
    from kpd.engine.tools.tool import chosen

    state, given = sources.state, dict(args or {})
    of = given.pop("run", None)
    run = run_ref(state, str(of)) if of is not None else state.active or run_ref(state)
    return chosen(ANYBODY, name).read(Desk(sources.workspace, state, run, sources.events), given)


# The queries and their views: a query's arguments are those of its view.
_VIEWS: dict[str, Callable[..., Any]] = {
    "status": _status,
    "queue": _queue,
    "log": _log,
    "events": _events,
    "show": contests.show,
    "diff": _diff,
    "change": _change,
    "file": _file,
    "rederive": _rederive,
    "cost": _cost,
    "cases": contests.cases,
    "hosts": lambda sources: list(sources.state.hosts.values()),
    "tasks": lambda sources: list(sources.state.tasks.values()),
    "rules": _rules,
    "terms": _terms,
    "skills": lambda sources: knowledge_views.skills(sources.workspace),
    "skill": _skill,
    "memory": _memory,
    "tools": _tools,
    "tool": _tool,
    "tool_calls": _tool_calls,
    "toolbox": _toolbox,
    "comparisons": comparison_views.comparisons,
    "comparison": comparison_views.comparison,
    "model_key": lambda sources: knowledge_views.model_key(sources.workspace, keys()),
}
