"""Answers queries of clients from the state, the log and the files; changes nothing.

The same functions serve the socket and, when no daemon runs, a command-line verb. Arguments may be left out or null,
except `iteration`, `name`, `id` and `task` where they are listed first. A run is given in brief: without `iterations`,
`files`, `folder` and `pending_edit`, but with `count` (of its iterations), `current`, `best` and `baseline`. Sentences
are given beside the data: `reason`, why a run or an iteration ended or is paused, and `waits`, what a run waits for.
The environment is that of the process that answers.

    status    {version, pid (null: no daemon), workspace, seq, at, held (in words), hold, active, begun, queued,
               runs: {id: Run}, hosts: {name: HostCard}, tasks: {name: TaskCard}, notices, playback: Playback or null}
    queue     {held, hold, active, begun, queued}            active: the newest of those begun, or null
    log       [{seq, at, kind, body}]                  limit=200, run: the newest events, oldest first
    events    [{seq, at, kind, body}]                  after=0, limit=1000, run, iteration: the next events
    show      {run: Run, iteration: Iteration, detail: Detail, parent, baseline: Detail or null, headline, folder}
                                                       iteration; headline: its speed-up over the baseline, or null;
                                                       parent: its times are of the iteration's contest, not its own
    diff      {text, from, to}                         iteration, against=its parent
    file      {text, truncated}                        iteration, name
    rederive  {recorded, rederived}                    iteration: the verdict as judged, and from timing.json again
    hosts     [HostCard]
    tasks     [TaskCard]
    rules     [{id, severity, finding, condition, action, fired, tried, accepted, median_gain_pct, stand}]
                                                       median_gain_pct: null where nothing is measured
                                                       run: whose operator pinned or banned them; else the active one
    cases     {run, incumbent, cases: [{case, weight, best, speedups: {iteration: {ratio, low, high}}}]}   run: against
                                                       the baseline; the incumbent's slowest case first
    terms     {run, status, agent, model, stands, budget, counted, in_vain, usd, score}   run: what it goes on under,
                                                       and what of its budget is used: iterations, patience, dollars
    cost      {days: {date: Spend}, runs: [{run, task, spend, limit_usd, cut, purposes, models, iterations}]}   run
    skills    [{id, signal}]
    skill     {id, signal, body}                       id
    memory    {text}                                   task
    model_key {variable, trouble}                      trouble: why the environment has no key there; empty: it has

Two more queries only the daemon can answer: `glance` (commands.py) and `diary` (log_tail.py).
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import cache
from inspect import signature
from typing import Any

from kpd.daemon import artefacts, knowledge_views
from kpd.daemon.accounting import account, rederived, terms
from kpd.daemon.journal import load_state
from kpd.daemon.store import EventStore
from kpd.model import codec
from kpd.model.case_matrix import CaseSpeedups, case_matrix
from kpd.model.detail import Detail, detail
from kpd.model.events import Billed, Timed
from kpd.model.headline import headline
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import State
from kpd.operations.references import iteration_ref, run_ref
from kpd.profile.paired import beside
from kpd.text import json_views
from kpd.text.waits import hold
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder
from kpd.workspace.strict import misfit

MOST_EVENTS = 10_000  # of one answer


@dataclass(frozen=True, slots=True)
class Sources:
    """The data that answers are read from. The log is opened again for each query, so any thread can ask."""

    state: State
    workspace: Workspace

    @classmethod
    def offline(cls, workspace: Workspace) -> "Sources":
        """Load the state from the log, for when no daemon runs. Raises StoreError."""
        if not workspace.store.exists():
            return cls(State(workspace=str(workspace.root)), workspace)
        with EventStore(workspace.store, read_only=True) as store:
            return cls(replace(load_state(store), pid=None), workspace)

    def folder(self, run: Run, number: int) -> IterationFolder:
        return IterationFolder(self.workspace.iteration_folder(run.task, run.id, number))

    def detail(self, run: Run, number: int) -> Detail:
        """Fold the log's events of one iteration into its detail. Raises StoreError."""
        with EventStore(self.workspace.store, read_only=True) as store:
            return detail(store.read(run=run.id, iteration=number))


def answer(what: str, args: dict[str, Any], sources: Sources) -> Any:
    """Answer one query with plain JSON values. Raises DaemonError, StoreError."""
    if what not in _VIEWS:
        raise DaemonError("usage", f"unknown query {what!r}", f"known: {', '.join(_VIEWS)}")
    view = _VIEWS[what]
    kind = _arguments(view)
    known = {one.name for one in fields(kind)}
    if unknown := sorted(args.keys() - known):
        raise DaemonError(
            "usage", f"query {what} takes no {unknown[0]!r}", f"it takes: {', '.join(known) or 'nothing'}"
        )
    given = {name: value for name, value in args.items() if value is not None}
    try:
        checked = codec.decode(codec.encode(given), kind)
    except codec.CodecError as err:
        raise DaemonError("usage", f"query {what}: {misfit(given, kind) or err}") from err
    return codec.jsonable(view(sources, **vars(checked)))


@cache
def _arguments(view: Callable[..., Any]) -> type[Any]:
    """Build the type of a query's arguments from the signature of its view."""
    own = [*signature(view).parameters.values()][1:]
    needed = [(one.name, one.annotation) for one in own if one.default is one.empty]
    optional = [(one.name, one.annotation, field(default=one.default)) for one in own if one.default is not one.empty]
    return make_dataclass("Arguments", [*needed, *optional])


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
    with _log_of(sources, run) as log:
        return [] if log is None else [json_views.event(event) for event in log.tail(_some(limit), run)]


def _events(
    sources: Sources, after: int = 0, limit: int = 1000, run: str | None = None, iteration: int | None = None
) -> Any:
    with _log_of(sources, run) as log:
        found = () if log is None else log.read(after, _some(limit), run, iteration)
        return [json_views.event(event) for event in found]


@contextmanager
def _log_of(sources: Sources, run: str | None) -> Iterator[EventStore | None]:
    """Run the block with the open log, or None where there is none yet. Raises DaemonError for an unknown `run`."""
    if run is not None:
        run_ref(sources.state, run)
    if not sources.workspace.store.exists():
        yield None
        return
    with EventStore(sources.workspace.store, read_only=True) as store:
        yield store


def _some(limit: int) -> int:
    return max(0, min(limit, MOST_EVENTS))


def _cost(sources: Sources, run: str | None = None) -> Any:
    state = sources.state
    runs = [run_ref(state, run)] if run else [one for one in state.runs.values() if one.spend.calls]
    with _log_of(sources, run) as log:
        told = [account(one, log.read(run=one.id, kind=Billed.kind()) if log else ()) for one in runs]
    return {"days": state.days, "runs": told}


def _show(sources: Sources, iteration: str) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    parent, baseline = _parent(run, it), run.baseline
    found, before = sources.detail(run, it.number), None
    if parent is not None:
        found, before = beside(found, sources.detail(run, parent.number))
    return {
        "run": json_views.run(run),
        "iteration": json_views.iteration(it),
        "detail": json_views.found(found),
        "parent": None if before is None else json_views.found(before),
        "baseline": None if baseline is None else json_views.found(sources.detail(run, baseline.number)),
        "headline": json_views.headlined(headline(run, it.number)),
        "folder": str(sources.folder(run, it.number).folder),
    }


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _diff(sources: Sources, iteration: str, against: str | None = None) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    parent = _parent(run, it)
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
        sources.folder(old_run, old.number).candidate, sources.folder(run, it.number).candidate, before, after
    )
    return {"text": text, "from": before, "to": after}


def _file(sources: Sources, iteration: str, name: str) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    text, truncated = artefacts.text(sources.folder(run, it.number).folder, name)
    return {"text": text, "truncated": truncated}


def _rederive(sources: Sources, iteration: str) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    with _log_of(sources, run.id) as log:
        found = rederived(log, sources.folder(run, it.number), run, it.number)
    recorded = None if it.verdict is None else json_views.judged(it.verdict)
    return {"recorded": recorded, "rederived": json_views.judged(found)}


def _parent(run: Run, iteration: Iteration) -> Iteration | None:
    """Return the iteration that an iteration started from; None for a baseline."""
    return None if iteration.parent == iteration.number else run.iteration(iteration.parent)


def _rules(sources: Sources, run: str | None = None) -> Any:
    state = sources.state
    of = run_ref(state, run) if run else state.active
    return knowledge_views.rules(state.runs.values(), of.stands if of is not None else {})


def _cases(sources: Sources, run: str | None = None) -> Any:
    """Return the matrix of cases and candidates of the named run, else of the newest."""
    state = sources.state
    of = run_ref(state, run) if run is not None else run_ref(state)
    with _log_of(sources, of.id) as log:
        facts = [event.fact for event in log.read(run=of.id, kind=Timed.kind())] if log else []
    timed = {fact.iteration: fact for fact in facts if isinstance(fact, Timed)}
    rows = [
        {"case": row.case, "weight": row.weight, "best": row.best, "speedups": row.speedups}
        for row in sorted(case_matrix(of, timed), key=lambda row: _ratio(row, of.incumbent))
    ]
    return {"run": of.id, "incumbent": of.incumbent, "cases": rows}


def _ratio(row: CaseSpeedups, number: int | None) -> float:
    found = row.speedups.get(number) if number is not None else None
    return 1.0 if found is None else found.ratio


def _terms(sources: Sources, run: str | None = None) -> Any:
    """Return the terms of the named run, else of the newest run that has begun, else of the newest."""
    state = sources.state
    return terms(state.active or run_ref(state) if run is None else run_ref(state, run))


def _skill(sources: Sources, id: str) -> Any:
    return knowledge_views.skill(sources.workspace, id)


def _memory(sources: Sources, task: str) -> Any:
    return knowledge_views.memory_of(sources.workspace, task)


# The queries and their views: a query's arguments are those of its view.
_VIEWS: dict[str, Callable[..., Any]] = {
    "status": _status,
    "queue": _queue,
    "log": _log,
    "events": _events,
    "show": _show,
    "diff": _diff,
    "file": _file,
    "rederive": _rederive,
    "cost": _cost,
    "cases": _cases,
    "hosts": lambda sources: list(sources.state.hosts.values()),
    "tasks": lambda sources: list(sources.state.tasks.values()),
    "rules": _rules,
    "terms": _terms,
    "skills": lambda sources: knowledge_views.skills(sources.workspace),
    "skill": _skill,
    "memory": _memory,
    "model_key": lambda sources: knowledge_views.model_key(sources.workspace, os.environ),
}
