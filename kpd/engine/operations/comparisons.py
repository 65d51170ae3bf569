"""Implements operations on comparisons of built tools: begin one, stop one."""

import secrets
from dataclasses import replace
from typing import Any

from kpd.agents import catalogue
from kpd.engine.comparing import drawn, keep_start, settings_digest
from kpd.engine.engine import Engine
from kpd.engine.ids import next_id
from kpd.engine.operations.runs import place_of, stop
from kpd.model import events as e
from kpd.model.comparison import ToolComparison
from kpd.model.comparisons import runs_of
from kpd.model.state import State
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import active, lost
from kpd.operations.comparisons import CompareTools, StopComparison
from kpd.operations.operation import Refused
from kpd.operations.runs import StopRun
from kpd.operations.tools import one_of, refs, versions
from kpd.workspace.specs import BudgetSpec


def compare(engine: Engine, op: CompareTools, target: None, by: str) -> dict[str, Any]:
    """Keep the task's files and draw the order, before anything is queued. Raises Refused, TaskError, OSError."""
    if engine.config.run.approve:
        told = "candidates wait for a person ([run] approve), and a person's choice would decide what its runs show"
        raise Refused(told, "set approve = false in config.toml to let compared candidates run without you")
    task, agent, host = place_of(engine, op.task, op.agent, op.host)
    if "," in agent or not catalogue.reflects(agent, engine.config):
        raise Refused(f"{agent} uses no built tools", "name one coding agent: --agent claude-code, or another of them")
    if task.baseline != "right":
        told = f"the own files of {task.name} are {task.baseline}, so its runs would have no baseline in common"
        raise Refused(told, f'put right ones there, and remove baseline = "{task.baseline}" from its task.toml')
    tools = _chosen(engine.journal.state, task.name, op.tools)
    limits = BudgetSpec(op.iterations, op.iterations, None, None, op.usd)
    budget = replace(limits.over(task.budget.over(engine.config.budget())), stop_score=None)
    seed = 1 + secrets.randbelow(1 << 32) if op.seed is None else op.seed
    comparison = next_id(engine.workspace, "c", engine.journal.state.comparisons)
    files = keep_start(engine.workspace, task, comparison)
    order = drawn(op.trials, seed)
    digest = settings_digest(engine.config, agent)
    engine.journal.emit(
        e.ComparisonQueued(comparison, task.name, agent, host, budget, order, tools, seed, files, digest, by)
    )
    engine.wake()
    return {"comparison": comparison, "runs": len(order), "seed": seed}


async def stop_comparison(engine: Engine, op: StopComparison, target: ToolComparison, by: str) -> None:
    """Begin no further run, and stop the one under way. Raises Refused."""
    engine.journal.emit(e.ComparisonStopped(target.id, "operator", by))
    for run in runs_of(engine.journal.state, target.id):
        if not run.over:
            await stop(engine, StopRun(run=run.id), run, by)


def _chosen(state: State, task: str, named: str) -> tuple[str, ...]:
    """Return the versions that a person means by `lint,trace@3f2a91c0`. Raises Refused, UnknownName."""
    names = [name for word in named.split(",") if (name := word.strip())]
    if not names:
        raise Refused("no tool is named", "kpd compare TASK --with TOOLS; kpd tools list names them")
    of_task = replace(state, tools={ref: one for ref, one in state.tools.items() if one.task == task})
    found = [_usable(of_task, task, name) for name in names]
    if len({one.tool for one in found}) < len(found):
        raise Refused(f"{refs(found)}: a session has one version of a tool", "name each tool once")
    chosen = {one.tool for one in found}
    for one in found:
        if without := lost(one, chosen, of_task.tools):
            raise Refused(f"{one.shown} points at {', '.join(without)}", f"--with {','.join([*names, *without])}")
    return tuple(one.ref for one in found)


def _usable(state: State, task: str, name: str) -> ToolVersion:
    """Return the version of a tool that sessions may get. Raises Refused, UnknownName."""
    meant = versions(state, name)
    now = [one for one in active(state.tools, task) if one in meant]
    one = one_of(meant) if "@" in name else (now or list(meant))[0]
    if one.state != "qualified":
        remedy = f"kpd tools {'restore' if one.stopped else 'qualify'} {one.shown}"
        raise Refused(f"{one.shown} is {one.state}: no session may get it", remedy)
    return one
