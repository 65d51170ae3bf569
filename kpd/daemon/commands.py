"""The operator's commands by name: arguments checked, carried out by the engine, answered after their effect."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kpd.daemon.references import iteration_ref, run_ref
from kpd.engine.engine import Engine, Refused
from kpd.engine.reprofile import in_full
from kpd.hosts.errors import HostError
from kpd.model.codec import CodecError, decode, encode
from kpd.model.nouns import Run
from kpd.wire import DaemonError
from kpd.workspace.specs import BudgetSpec
from kpd.workspace.strict import Text
from kpd.workspace.task import TaskError


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArgs(BudgetSpec):
    """A budget given here goes before the task's, which goes before config.toml's."""

    task: Text
    agent: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class OnRun:
    run: str | None = None


@dataclass(frozen=True, slots=True)
class SteerArgs:
    text: str = ""
    note: int | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class AcceptArgs:
    iteration: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RollbackArgs:
    iteration: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class MemoArgs:
    iteration: str
    text: str


@dataclass(frozen=True, slots=True)
class ProfileArgs:
    iteration: str


@dataclass(frozen=True, slots=True)
class CheckHostsArgs:
    host: str | None = None


@dataclass(frozen=True, slots=True)
class OnHost:
    host: str


@dataclass(frozen=True, slots=True)
class TrustArgs:
    host: str
    fingerprint: str


async def _run(engine: Engine, args: RunArgs, by: str) -> dict[str, Any]:
    task = engine.task(args.task)
    run = engine.config.run
    budget = args.over(task.budget.over(engine.config.budget()))
    return {"run": engine.enqueue(task, args.agent or run.agent, args.host or run.host, budget, by)}


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


async def _accept(engine: Engine, args: AcceptArgs, by: str) -> dict[str, Any]:
    run, it = iteration_ref(engine.journal.state, args.iteration)
    engine.accept(run, it, args.reason.strip(), by)
    return {"run": run.id, "iteration": it.number}


async def _rollback(engine: Engine, args: RollbackArgs, by: str) -> dict[str, Any]:
    run, it = iteration_ref(engine.journal.state, args.iteration)
    engine.rollback(run, it, args.force, by)
    return {"run": run.id, "iteration": it.number}


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
    "accept": (AcceptArgs, _accept),
    "rollback": (RollbackArgs, _rollback),
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
    known = [field.name for field in fields(kind)]
    if strange := [name for name in args if name not in known]:
        raise DaemonError("usage", f"{verb} takes no {strange[0]!r}", f"it takes {', '.join(known)}")
    try:
        return await act(engine, decode(encode(args), kind), by)
    except CodecError as err:
        raise DaemonError("usage", f"{verb}: {err}") from err
    except Refused as err:
        raise DaemonError("refused", str(err), err.remedy) from err
    except TaskError as err:
        raise DaemonError("usage", err.message, err.remedy) from err
    except HostError as err:
        raise DaemonError("infra", err.message, err.remedy) from err
    except OSError as err:
        raise DaemonError("infra", f"{err.filename or verb}: {err.strerror or err}", "check the disk") from err


def _live(engine: Engine, name: str | None) -> Run:
    """The run that is named, else the one that holds a device, else the newest. Raises Refused when that is unclear."""
    state = engine.journal.state
    if name or not state.begun:
        return run_ref(state, name)
    if len(state.begun) > 1:
        raise Refused(f"{_names(state.begun)} are under way", "say which one you mean")
    return state.begun[0]


def _host(engine: Engine, name: str) -> str:
    if name not in engine.fleet.hosts:
        raise Refused(f"no host {name!r}", f"hosts: {', '.join(engine.fleet.hosts)}; kpd hosts add adds one")
    return name


def _names(runs: Sequence[Run]) -> str:
    return " and ".join(run.id for run in runs)
