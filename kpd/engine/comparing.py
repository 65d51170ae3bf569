"""Conducts comparisons of built tools: keeps the files that all runs start from, and queues one run after the other."""

import json
import random
from dataclasses import asdict

from kpd.agents import catalogue
from kpd.engine.edits import hashes, present
from kpd.engine.ids import next_id
from kpd.engine.journal import Journal
from kpd.model import events as e
from kpd.model.comparison import ComparisonStop, ToolComparison
from kpd.model.comparisons import next_run, runs_of
from kpd.model.side import Side, in_blocks
from kpd.model.state import State
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import digest
from kpd.workspace.task import Task, copy_task, load_task, task_files


def drawn(trials: int, seed: int) -> tuple[Side, ...]:
    """Return a random order of `trials` runs of each side, two at least; the same for the same seed.

    One with all runs of a side before those of the other is drawn again: the machine may have changed between them.
    """
    order: list[Side] = ["plain", "tools"] * trials
    chance = random.Random(seed)
    chance.shuffle(order)
    while tuple(order) in in_blocks(trials):
        chance.shuffle(order)
    return tuple(order)


def keep_start(workspace: Workspace, task: Task, comparison: str) -> dict[str, str]:
    """Copy the task's folder for all runs of a new comparison; return its files (path → sha256). Raises TaskError."""
    copy = workspace.start_folder(task.name, comparison)
    copy_task(task.folder, copy)
    kept = load_task(copy)
    return hashes(present(copy, tuple(task_files(copy, kept.records))))


def settings_digest(config: Config, agent: str) -> str:
    """Return a digest of a coding agent's settings, config.toml's and its preset's: program, model, limits, dollars."""
    usual = asdict(AgentConfig())
    both = (config.agents.get(agent, AgentConfig()), catalogue.preset(agent, config))
    changed = [{name: value for name, value in asdict(one).items() if value != usual[name]} for one in both]
    return digest(json.dumps(changed, sort_keys=True).encode())


def queue_next(workspace: Workspace, config: Config, journal: Journal) -> None:
    """Queue the next run of each comparison that is due. Stop one whose runs would differ in more than their tools."""
    for one in tuple(journal.state.comparisons.values()):
        if (place := next_run(journal.state, one)) is None:
            continue
        if why := _unequal(journal.state, config, one):
            journal.emit(e.ComparisonStopped(one.id, why, "kpd"))
            continue
        so_far = runs_of(journal.state, one.id)
        host = so_far[0].host if so_far else one.host
        traits = catalogue.traits(one.agent, config)
        run = next_id(workspace, "r", journal.state.runs)
        journal.emit(e.RunQueued(run, one.task, one.agent, host, one.budget, by="kpd", traits=traits, compared=place))


def _unequal(state: State, config: Config, comparison: ToolComparison) -> ComparisonStop | None:
    if config.run.approve or settings_digest(config, comparison.agent) != comparison.settings:
        return "settings"
    if len(_programs(state, comparison)) > 1:
        return "agent"
    qualified = (ref in state.tools and state.tools[ref].state == "qualified" for ref in comparison.tools)
    return None if all(qualified) else "tools"


def _programs(state: State, comparison: ToolComparison) -> set[str]:
    """Return the names and versions that the agent has given of itself in the comparison's sessions."""
    sessions = (it.session for run in runs_of(state, comparison.id) for it in run.iterations)
    return {session.agent for session in sessions if session is not None and session.agent}
