"""Implements operations on a whole run: queue, pause, resume, steer, skip, stop, prune."""

import asyncio
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from kpd.agents import catalogue
from kpd.engine.ending import break_off
from kpd.engine.engine import Engine
from kpd.engine.ids import next_id
from kpd.engine.journal import run_of
from kpd.model import codec, events as e
from kpd.model.budget import Budget
from kpd.model.causes import Stopped
from kpd.model.preparation import TaskOrder
from kpd.model.preparing import of_project
from kpd.model.run import Run
from kpd.model.waits import PausedBy
from kpd.operations.operation import Refused, UnknownName
from kpd.operations.runs import (
    NoteRun,
    PauseRun,
    PruneRun,
    QueueRun,
    ResumeRun,
    SkipIteration,
    SteerRun,
    StopRun,
    prunable,
)
from kpd.operations.sessions import at_work
from kpd.text.waits import hold
from kpd.workspace.config import Config
from kpd.workspace.disk import removed
from kpd.workspace.host_tables import ANY
from kpd.workspace.specs import BudgetSpec
from kpd.workspace.task import Task, card, copy_task, find_tasks, load_task

BUDGET = tuple(field.name for field in fields(BudgetSpec))
LONGEST_TEXT = 8_000
"""The most characters of an operator's words on a task: they are in every prompt."""


def run(engine: Engine, op: QueueRun, target: None, by: str) -> dict[str, Any]:
    """Queue a run of a task; a task that only ships with kpd is first copied into the workspace.

    With an `order` the task is made first; a run of the project that is at that, or goes on after it, is returned
    instead of another one. Raises TaskError, Refused.
    """
    config = engine.config
    if (order := _order(op)) is not None and (other := of_project(engine.journal.state, op.deploy)) is not None:
        return {"run": other.id, "goes_on": True}
    if order is None:
        task, agent, host = place_of(engine, op.task, op.agent, op.host)
        name, budget = task.name, budget_of(config, task.budget, _given(op))
    else:
        agent, host = chosen(engine, op.agent, op.host)
        name, budget = op.task, budget_of(config, BudgetSpec(), order.given)
    approve = config.run.approve if op.approve is None else op.approve
    if op.evolve and not catalogue.reflects(agent, config):
        raise Refused(f"{agent} builds no tools", "only coding agents do: --agent claude-code, or another of theirs")
    devices = config.run.devices if op.devices is None else op.devices
    if op.evolve and devices != 1:
        raise Refused("coding agents build tools between iterations, on one device", "leave out --evolve or --devices")
    evolve = config.toolsmith.enabled and devices == 1 if op.evolve is None else op.evolve
    starts = op.task_state or config.run.task_state
    if op.task_state == "reset" and not catalogue.reflects(agent, config):
        raise Refused(f"{agent} proposes changes of the incumbent", "only coding agents can begin anew: leave it out")
    if len(text := op.task_text.strip()) > LONGEST_TEXT:
        raise Refused(f"the text on the task has {len(text):,} characters", f"shorten it to {LONGEST_TEXT:,}")
    if op.deploy and op.deploy not in config.project:
        known = f"projects: {', '.join(config.project) or 'none; kpd project add makes one'}"
        raise UnknownName(f"no project {op.deploy!r}", known)
    queued = next_id(engine.workspace, "r", engine.journal.state.runs)
    traits = catalogue.traits(agent, config)
    engine.journal.emit(
        e.RunQueued(
            queued,
            name,
            agent,
            host,
            budget,
            by,
            approve,
            traits,
            evolve,
            task_state=starts,
            task_text=text,
            apart=op.apart,
            devices=0 if devices == "all" else devices,
            deploy=op.deploy,
            order=order,
        )
    )
    engine.wake()
    return {"run": queued}


def _given(op: QueueRun) -> dict[str, int | float]:
    """Return what the operator says of the budget."""
    said = {name: getattr(op, name) for name in BUDGET}
    return {name: value for name, value in said.items() if value is not None}


def _order(op: QueueRun) -> TaskOrder | None:
    """Return how the task is to be made, None where it is there. Raises Refused."""
    if op.order is None:
        return None
    if not op.deploy:
        raise Refused("a task is made of a project's kernel, and no project is named", "kpd project run PROJECT")
    try:
        return replace(codec.decode(codec.encode(op.order), TaskOrder), given=_given(op))
    except codec.CodecError as err:
        raise Refused(f"the task cannot be made so: {err}", "kpd project run has its options") from err


def budget_of(config: Config, task: BudgetSpec, given: Mapping[str, int | float]) -> Budget:
    """Return a run's budget: what its operator has `given`, else what its task says, else config.toml's."""
    return codec.decode(codec.encode(given), BudgetSpec).over(task.over(config.budget()))


def place_of(engine: Engine, name: str, agent: str | None, host: str | None) -> tuple[Task, str, str]:
    """Return the task of a new run, its agents and its host, with config.toml's where none are given.

    A task that only ships with kpd is first copied into the workspace. Raises UnknownName, TaskError, OSError.
    """
    tasks = find_tasks(engine.workspace)
    if name not in tasks:
        raise UnknownName(f"no task {name!r}", f"tasks: {', '.join(sorted(tasks)) or 'none; kpd task new NAME'}")
    task = load_task(tasks[name])
    agent, host = chosen(engine, agent, host)
    live = engine.workspace.tasks / task.name
    if task.folder != live:
        copy_task(task.folder, live)
    if engine.journal.state.tasks.get(task.name) != (now := card(load_task(live))):
        engine.journal.emit(e.TaskLoaded(now))  # it has just been made, and the watcher has not seen it yet
    return task, agent, host


def chosen(engine: Engine, agent: str | None, host: str | None) -> tuple[str, str]:
    """Return the agents and the host of a new run, config.toml's where none are given. Raises UnknownName."""
    config = engine.config
    agent, host = agent or config.run.agent, host or config.run.host
    if host != ANY and host not in config.hosts:
        raise UnknownName(f"no host {host!r}", f"hosts: {', '.join((ANY, *config.hosts))}; kpd hosts add adds one")
    refuse_agents(agent, engine)
    return agent, host


def pause(engine: Engine, op: PauseRun, target: Run, by: str) -> None:
    engine.journal.emit(e.RunPaused(target.id, PausedBy(by), by))


def resume(engine: Engine, op: ResumeRun, target: Run | None, by: str) -> None:
    """Release a held queue, and resume the run if it is paused."""
    if engine.journal.state.held:
        engine.journal.emit(e.QueueReleased(by))
    if target is not None and target.paused:
        engine.journal.emit(e.RunResumed(target.id, by))
    if target is not None:
        engine.pool.retry_now(target.host)
    engine.look_at_folders()
    engine.wake()


def steer(engine: Engine, op: SteerRun, target: Run, by: str) -> dict[str, Any]:
    text, note = op.text.strip(), op.note
    if note is None:
        if not text:
            raise Refused("there is nothing to say", 'kpd steer "use 256-bit loads"')
        note = max((line.note for line in target.steering), default=0) + 1
    else:
        line = next((line for line in target.steering if line.note == note), None)
        if line is None:
            raise Refused(f"{target.id} has no steering note {note}")
        if line.consumed_by is not None:
            raise Refused(f"note {note} was consumed by iteration {line.consumed_by}", "add a new one")
    engine.journal.emit(e.Steered(target.id, note, text, by))
    it = at_work(target)
    return {"note": note, "at_work": f"{target.id}.{it.number}" if it is not None else ""}


def note(engine: Engine, op: NoteRun, target: Run, by: str) -> None:
    if not (text := op.text.strip()):
        raise Refused("the note is empty", 'kpd note "the fan was replaced"')
    engine.journal.emit(e.Noted(target.id, text, by))


def skip(engine: Engine, op: SkipIteration, target: Run, by: str) -> None:
    loop = engine.scheduler.loops.get(target.id)
    if loop is None:
        raise Refused(f"{target.id} is not under way")
    it = op.iteration(engine.journal.state, target)
    loop.interrupt("skip", by, it.number if it is not None else 0)


async def prune(engine: Engine, op: PruneRun, target: Run, by: str) -> dict[str, Any]:
    """Remove the files of candidates that have not won, and those that a daemon left that was killed at this."""
    numbers = prunable(target, op.keep_best)
    gone = (*target.pruned, *numbers)
    folders = [engine.workspace.iteration_folder(target.task, target.id, number) for number in gone]
    if numbers:
        engine.journal.emit(e.Pruned(target.id, numbers, by))
    freed = await asyncio.to_thread(lambda: sum(removed(folder) for folder in folders))
    return {"count": len(numbers), "bytes": freed, "mib": f"{freed / 2**20:,.1f}"}


async def stop(engine: Engine, op: StopRun, target: Run, by: str) -> None:
    """End the run now and kill what it is running; return once it has ended. With it ends its comparison."""
    if (place := target.compared) is not None and not engine.journal.state.comparisons[place.of].stopped:
        engine.journal.emit(e.ComparisonStopped(place.of, "operator", by))
    loop = engine.scheduler.loops.get(target.id)
    if loop is not None:
        loop.interrupt("stop", by)
        await loop.over.wait()
        if not run_of(engine.journal, target.id).over:
            held = hold(engine.journal.state.held)
            raise Refused(f"{target.id} could not be ended: {held}", "correct that, then stop it again")
        return
    was_active = target.begun
    break_off(engine.journal, target.id, "stopped", Stopped(by))
    if was_active:
        engine.pool.end_leftovers(target.host)
    if was_active and engine.journal.state.held and not engine.journal.state.begun:
        engine.journal.emit(e.QueueReleased(by))  # it was held for this run
    engine.wake()


def refuse_agents(names: str, engine: Engine) -> None:
    """Raise UnknownName for an agent that does not exist, has nothing to propose, or cannot take turns with others."""
    reason, remedy = catalogue.refusal(names, engine.workspace, engine.config)
    if reason:
        raise UnknownName(reason, remedy)
