"""Sums up what agents did with tools: their calls by tool, their trials by iteration, and the tools that they built."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from statistics import median
from typing import Any

from kpd.daemon.store import EventStore
from kpd.daemon.tool_effect import Place, ToolEffect, effect
from kpd.model.codec import jsonable
from kpd.model.run import Run
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import SkillsRead, ToolsGiven, active, lost
from kpd.model.trials import LISTING, ToolCalled, Tried


def summary(log: EventStore, run: str | None = None) -> dict[str, Any]:
    """Return the calls of each tool and the trials of each iteration, of one run or of all. Raises StoreError."""
    called: defaultdict[tuple[str, str, str], list[ToolCalled]] = defaultdict(list)
    tried: defaultdict[tuple[str, int], list[Tried]] = defaultdict(list)
    for event in log.read(run=run, kind=ToolCalled.kind()):
        if isinstance(fact := event.fact, ToolCalled):
            called[fact.run, fact.server, fact.tool].append(fact)
    for event in log.read(run=run, kind=Tried.kind()):
        if isinstance(fact := event.fact, Tried):
            tried[fact.run, fact.iteration].append(fact)
    read = Counter((where[0], skill) for skill, sessions in _readers(log, run).items() for where in sessions)
    return {
        "calls": [_calls(*of, facts) for of, facts in called.items()],
        "trials": [_trials(*of, facts) for of, facts in tried.items()],
        "skills_read": [{"run": of, "skill": skill, "sessions": times} for (of, skill), times in read.items()],
    }


def toolbox(log: EventStore, versions: Collection[ToolVersion], runs: Collection[Run]) -> list[dict[str, Any]]:
    """Return the tools that agents built, each with its calls and the sessions that had it. Raises StoreError."""
    called: defaultdict[tuple[str, int, str], list[ToolCalled]] = defaultdict(list)
    given: defaultdict[str, set[Place]] = defaultdict(set)
    for event in log.read(kind=ToolCalled.kind()):
        if isinstance(fact := event.fact, ToolCalled):
            called[fact.run, fact.iteration, fact.server].append(fact)
    for event in log.read(kind=ToolsGiven.kind()):
        if isinstance(had := event.fact, ToolsGiven):
            for ref in had.tools:
                given[ref].add((had.run, had.iteration))
    read, told = _readers(log), []
    known = {one.ref: one for one in versions}
    for one in versions:
        having = given[one.ref]
        any_version = {at for other in versions if other.tool == one.tool for at in given[other.ref]}
        compared = effect(runs, one.task, having, any_version)
        told.append(_version(one, {at: called[*at, one.tool] for at in having}, read[one.ref], compared))
        names = {other.tool for other in active(known, one.task)}
        if one.state == "qualified" and (without := lost(one, names, known)):
            told[-1] |= {"state": "withheld", "lost": without}
    return told


def _readers(log: EventStore, run: str | None = None) -> defaultdict[str, set[Place]]:
    """Return the sessions that have read each skill, as their runs and iterations."""
    found: defaultdict[str, set[Place]] = defaultdict(set)
    for event in log.read(run=run, kind=SkillsRead.kind()):
        if isinstance(fact := event.fact, SkillsRead):
            for skill in fact.skills:
                found[skill].add((fact.run, fact.iteration))
    return found


def _version(
    found: ToolVersion, sessions: dict[Place, list[ToolCalled]], readers: set[Place], compared: ToolEffect
) -> dict[str, Any]:
    calls = [one for facts in sessions.values() for one in facts if one.tool != LISTING]
    counts = {"calls": len(calls), "failed": sum(not one.ok for one in calls)}
    callers = {at for at, facts in sessions.items() if any(one.tool != LISTING for one in facts)}
    used = {
        "sessions": len(sessions),
        "started": sum(bool(facts) for facts in sessions.values()),
        "read": len(readers),
        "used": len(callers | readers),
    }
    told = {"ref": found.ref, "shown": found.shown, "state": found.state, **jsonable(found), **counts, **used}
    return {**told, "lost": (), "effect": jsonable(compared)}


def _calls(run: str, server: str, tool: str, facts: list[ToolCalled]) -> dict[str, Any]:
    return {
        "run": run, "server": server, "tool": tool, "calls": len(facts), "failed": sum(not one.ok for one in facts),
        "median_ms": median(one.ms for one in facts), "longest_ms": max(one.ms for one in facts),
        "arguments": _sizes(facts), "answer_bytes": sum(one.result for one in facts),
    }  # fmt: skip


def _sizes(facts: Iterable[ToolCalled]) -> dict[str, int]:
    """Return the bytes of all arguments by name."""
    found: Counter[str] = Counter()
    for one in facts:
        found.update(one.arguments)
    return dict(found)


def _trials(run: str, iteration: int, facts: list[Tried]) -> dict[str, Any]:
    ends = Counter(one.end for one in facts)
    return {"run": run, "iteration": iteration, "ends": ends, "device_s": sum(one.device_s for one in facts)}
