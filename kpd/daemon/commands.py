"""The operator's commands by name: arguments checked, carried out by the engine, answered after their effect."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from kpd.daemon.arguments import (
    AcceptArgs,
    AgainArgs,
    AgentArgs,
    ApproveArgs,
    BudgetArgs,
    CheckHostsArgs,
    DeclineArgs,
    EditArgs,
    MemoArgs,
    MoveArgs,
    OnHost,
    OnRun,
    ProfileArgs,
    ReviewArgs,
    RollbackArgs,
    RuleArgs,
    RunArgs,
    SteerArgs,
    TrustArgs,
)
from kpd.daemon.references import iteration_ref, run_ref
from kpd.engine import acts, decisions, terms
from kpd.engine.engine import Engine
from kpd.engine.refused import Refused
from kpd.engine.reprofile import in_full
from kpd.hosts.errors import HostError
from kpd.model.codec import CodecError, decode, encode
from kpd.model.nouns import Budget, Iteration, Run
from kpd.wire import DaemonError
from kpd.workspace.strict import misfit
from kpd.workspace.task import TaskError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

A = TypeVar("A", bound="DataclassInstance")


async def _run(engine: Engine, args: RunArgs, by: str) -> dict[str, Any]:
    task = engine.task(args.task)
    run = engine.config.run
    budget = args.over(task.budget.over(engine.config.budget()))
    approve = run.approve if args.approve is None else args.approve
    return {"run": engine.enqueue(task, args.agent or run.agent, args.host or run.host, budget, by, approve)}


async def _pause(engine: Engine, args: OnRun, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    engine.pause(run, by)
    return {"run": run.id}


async def _resume(engine: Engine, args: OnRun, by: str) -> dict[str, Any]:
    state = engine.journal.state
    paused = [run for run in state.begun if run.status == "paused"]
    run: Run | None
    if args.run:
        run = run_ref(state, args.run)
    elif len(paused) > 1 and not state.held:
        raise Refused(f"{_names(paused)} are paused", "say which one: kpd resume RUN")
    else:
        run = paused[0] if len(paused) == 1 else state.active
    engine.resume(run, by)
    return {"run": run.id if run else None}


async def _steer(engine: Engine, args: SteerArgs, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    return {"run": run.id, "note": engine.steer(run, args.text.strip(), args.note, by)}


async def _skip(engine: Engine, args: OnRun, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    engine.skip(run, by)
    return {"run": run.id}


async def _stop(engine: Engine, args: OnRun, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    await engine.stop(run, by)
    return {"run": run.id}


async def _review(engine: Engine, args: ReviewArgs, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    acts.review(engine, run, args.on, by)
    return {"run": run.id, "on": args.on}


async def _approve(engine: Engine, args: ApproveArgs, by: str) -> dict[str, Any]:
    run, it = _waiting(engine, args.iteration)
    acts.approve(engine, run, it, by)
    return {"run": run.id, "iteration": it.number}


async def _decline(engine: Engine, args: DeclineArgs, by: str) -> dict[str, Any]:
    run, it = _waiting(engine, args.iteration)
    acts.decline(engine, run, it, args.reason.strip(), by)
    return {"run": run.id, "iteration": it.number}


async def _again(engine: Engine, args: AgainArgs, by: str) -> dict[str, Any]:
    run, it = iteration_ref(engine.journal.state, args.iteration)
    acts.again(engine, run, it, args.thorough, by)
    return {"run": run.id, "iteration": it.number}


async def _edit(engine: Engine, args: EditArgs, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    acts.edit(engine, run, args.files, by)
    return {"run": run.id}


async def _budget(engine: Engine, args: BudgetArgs, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    given = {of.name: value for of in fields(Budget) if (value := getattr(args, of.name)) is not None}
    terms.budget(engine, run, given, by)
    return {"run": run.id}


async def _agent(engine: Engine, args: AgentArgs, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    terms.agent(engine, run, args.agent, args.model, by)
    return {"run": run.id}


async def _rule(engine: Engine, args: RuleArgs, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    terms.rule(engine, run, args.rule, args.stand, by)
    return {"run": run.id, "rule": args.rule}


async def _move(engine: Engine, args: MoveArgs, by: str) -> dict[str, Any]:
    run = run_ref(engine.journal.state, args.run)
    return {"run": run.id, "place": terms.move(engine, run, args.to, by)}


async def _accept(engine: Engine, args: AcceptArgs, by: str) -> dict[str, Any]:
    run, it = iteration_ref(engine.journal.state, args.iteration)
    decisions.accept(engine, run, it, args.reason.strip(), by)
    return {"run": run.id, "iteration": it.number}


async def _rollback(engine: Engine, args: RollbackArgs, by: str) -> dict[str, Any]:
    run, it = iteration_ref(engine.journal.state, args.iteration)
    decisions.rollback(engine, run, it, args.force, by)
    return {"run": run.id, "iteration": it.number}


async def _undo(engine: Engine, args: OnRun, by: str) -> dict[str, Any]:
    run = _live(engine, args.run)
    return {"run": run.id, "iteration": decisions.undo(engine, run, by).number}


async def _memo(engine: Engine, args: MemoArgs, by: str) -> dict[str, Any]:
    run, it = iteration_ref(engine.journal.state, args.iteration)
    engine.memo(run, it, args.text, by)
    return {"run": run.id, "iteration": it.number}


async def _profile(engine: Engine, args: ProfileArgs, by: str) -> dict[str, Any]:
    run, it = iteration_ref(engine.journal.state, args.iteration)
    return await in_full(engine, run, it)


async def _check_hosts(engine: Engine, args: CheckHostsArgs, by: str) -> dict[str, Any]:
    """All at once: a host that hangs keeps nobody waiting but itself."""
    names = [_host(engine, args.host)] if args.host else list(engine.fleet.hosts)
    return {"hosts": await asyncio.gather(*(engine.fleet.check(name) for name in names))}


async def _nudge(engine: Engine, args: OnHost, by: str) -> dict[str, Any]:
    return {"hosts": [await engine.fleet.check(_host(engine, args.host))]}


async def _trust(engine: Engine, args: TrustArgs, by: str) -> dict[str, Any]:
    await engine.fleet.trust(_host(engine, args.host), args.fingerprint)
    return {"host": args.host}


COMMANDS: dict[str, tuple[type[Any], Callable[[Engine, Any, str], Awaitable[dict[str, Any]]]]] = {
    "run": (RunArgs, _run),
    "pause": (OnRun, _pause),
    "resume": (OnRun, _resume),
    "steer": (SteerArgs, _steer),
    "skip": (OnRun, _skip),
    "stop": (OnRun, _stop),
    "review": (ReviewArgs, _review),
    "approve": (ApproveArgs, _approve),
    "decline": (DeclineArgs, _decline),
    "again": (AgainArgs, _again),
    "edit": (EditArgs, _edit),
    "budget": (BudgetArgs, _budget),
    "agent": (AgentArgs, _agent),
    "rule": (RuleArgs, _rule),
    "move": (MoveArgs, _move),
    "accept": (AcceptArgs, _accept),
    "rollback": (RollbackArgs, _rollback),
    "undo": (OnRun, _undo),
    "memo": (MemoArgs, _memo),
    "profile": (ProfileArgs, _profile),
    "check_hosts": (CheckHostsArgs, _check_hosts),
    "nudge": (OnHost, _nudge),
    "trust": (TrustArgs, _trust),
}


async def carry_out(engine: Engine, verb: str, args: dict[str, Any], by: str) -> dict[str, Any]:
    """Do what `verb` says. Raises DaemonError, and JournalError when the log cannot take it."""
    if verb not in COMMANDS:
        raise DaemonError("unknown", f"no command {verb!r}", f"commands: {', '.join(COMMANDS)}, shutdown")
    kind, act = COMMANDS[verb]
    given = checked(verb, kind, args)
    try:
        return await act(engine, given, by)
    except Refused as err:
        raise DaemonError("refused", str(err), err.remedy) from err
    except TaskError as err:
        raise DaemonError("usage", err.message, err.remedy) from err
    except HostError as err:
        raise DaemonError("infra", err.message, err.remedy) from err
    except OSError as err:
        raise DaemonError("infra", f"{err.filename or verb}: {err.strerror or err}", "check the disk") from err


def checked(verb: str, kind: type[A], args: dict[str, Any]) -> A:
    """The arguments of `verb` as it takes them. Raises DaemonError."""
    known = [field.name for field in fields(kind)]
    if strange := [name for name in args if name not in known]:
        raise DaemonError("usage", f"{verb} takes no {strange[0]!r}", f"it takes {', '.join(known)}")
    try:
        return decode(encode(args), kind)
    except CodecError as err:
        raise DaemonError("usage", f"{verb}: {misfit(args, kind) or err}") from err


def _live(engine: Engine, name: str | None) -> Run:
    """The run that is named, else the one that holds a device, else the newest. Raises Refused when that is unclear."""
    state = engine.journal.state
    if name or not state.begun:
        return run_ref(state, name)
    if len(state.begun) > 1:
        raise Refused(f"{_names(state.begun)} are under way", "say which one you mean")
    return state.begun[0]


def _waiting(engine: Engine, name: str | None) -> tuple[Run, Iteration]:
    """The candidate that is named, else the only one that waits for a person. Raises Refused when that is unclear."""
    state = engine.journal.state
    if name:
        return iteration_ref(state, name)
    found = [(run, it) for run in state.begun if (it := acts.waiting(run)) is not None]
    if not found:
        raise Refused("no candidate waits for a person", "kpd review on has those to come wait")
    if len(found) > 1:
        raise Refused(f"{_names([run for run, _ in found])} have candidates that wait", "say which one, as in r3.7")
    return found[0]


def _host(engine: Engine, name: str) -> str:
    if name not in engine.fleet.hosts:
        raise Refused(f"no host {name!r}", f"hosts: {', '.join(engine.fleet.hosts)}; kpd hosts add adds one")
    return name


def _names(runs: Sequence[Run]) -> str:
    return " and ".join(run.id for run in runs)
