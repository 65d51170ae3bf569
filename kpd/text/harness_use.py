"""Renders what a session did with tools in HarnessGym's shapes: its calls, skills that it read, the tool it built."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kpd.model import events as e
from kpd.model.fact import Fact, IterationFact
from kpd.model.toolbox import ToolCheck, ToolVersion
from kpd.model.trials import LISTING


def telemetry(facts: Iterable[Fact]) -> dict[str, Any]:
    """Sum up the calls of built tools among these facts."""
    told = list(facts)
    names = {ref.partition("@")[0] for fact in told if isinstance(fact, e.ToolsGiven) for ref in fact.tools}
    calls = [one for one in told if isinstance(one, e.ToolCalled) and one.server in names and one.tool != LISTING]
    good = sum(one.ok for one in calls)
    return {
        "count": len(calls),
        "successful_count": good,
        "failed_count": len(calls) - good,
        "status_counts": dict(Counter("completed" if one.ok else "error" for one in calls)),
        "called_tools": sorted({one.tool for one in calls}),
        "servers": sorted({one.server for one in calls}),
    }


def usage(facts: Iterable[Fact], iteration: int) -> dict[str, Any]:
    """Say which built tools the session of an iteration had, what it called and which skills it read."""
    own = [fact for fact in facts if isinstance(fact, IterationFact) and fact.iteration == iteration]
    given = {ref for fact in own if isinstance(fact, e.ToolsGiven) for ref in fact.tools}
    read = {skill for fact in own if isinstance(fact, e.SkillsRead) for skill in fact.skills}
    return {"active_artifacts": sorted(given), "mcp_telemetry": telemetry(own), "skills_read": sorted(read)}


def built(facts: Iterable[Fact], iteration: int, tools: Mapping[str, ToolVersion]) -> ToolVersion | None:
    """Return the tool that the session of an iteration has built last; None without any."""
    own = [fact for fact in facts if isinstance(fact, e.SmithEnded) and fact.iteration == iteration]
    return next((tools[fact.tool] for fact in reversed(own) if fact.tool in tools), None)


def improvement(facts: Iterable[Fact], iteration: int, made: ToolVersion | None) -> dict[str, Any] | None:
    """Return the improvement that a session named, with the tool that it made of it; None where it named none."""
    named = [
        fact.said
        for fact in facts
        if isinstance(fact, e.SmithTurned) and fact.iteration == iteration and fact.task == "reflect" and fact.said
    ]
    if not named:
        return None
    kind = None if made is None else "mcp" if made.server else "skill"
    path = None if made is None else f"tools/{made.tool}/{made.version}"
    return {"kind": kind, "name": made and made.tool, "reason": named[-1], "target_path": path}


def tests_of(made: ToolVersion | None) -> list[dict[str, str]]:
    """Return the checks of a tool with what each found."""
    return [] if made is None else [_test(check) for check in made.checks]


def _test(check: ToolCheck) -> dict[str, str]:
    return {"name": f"{check.name} {check.of}".strip(), "status": "passed" if check.ok else "failed"}
