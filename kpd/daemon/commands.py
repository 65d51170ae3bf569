"""Carries out commands of clients, or refuses them; reads the status of devices."""

import asyncio
from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from kpd.engine.engine import Engine
from kpd.engine.host_pool import HostPool
from kpd.engine.operations.effects import EFFECTS
from kpd.hosts.errors import HostError
from kpd.model.codec import jsonable
from kpd.operations.catalogue import OPERATIONS
from kpd.operations.checking import checked
from kpd.wire import DaemonError
from kpd.workspace.disk import explained
from kpd.workspace.task import TaskError


async def carry_out(engine: Engine, verb: str, args: dict[str, Any], by: str) -> dict[str, Any]:
    """Execute the command `verb`, and return its answer. Raises DaemonError, and JournalError where the log fails."""
    if verb not in EFFECTS:
        raise DaemonError("no_command", f"no command {verb!r}", f"commands: {', '.join(EFFECTS)}, shutdown")
    op = checked(OPERATIONS[verb], args)
    state = engine.journal.state
    target = op.target(state)
    if (refused := op.refused(state, target)) is not None:
        raise refused
    try:
        done = EFFECTS[verb](engine, op, target, by)
        if isawaitable(done):
            done = await done
    except TaskError as err:
        raise DaemonError("usage", err.message, err.remedy) from err
    except HostError as err:
        raise DaemonError("infra", err.message, err.remedy) from err
    except OSError as err:
        raise DaemonError("infra", *explained(err, verb, "check the disk")) from err
    return {**op.answer(target), **(done or {})}


async def device_status(pool: HostPool, args: Mapping[str, object]) -> list[Any]:
    """Return the status of the devices of one or all hosts, as plain JSON values. Raises DaemonError."""
    if strange := sorted(args.keys() - {"host"}):
        raise DaemonError("usage", f"query glance takes no {strange[0]!r}", "it takes: host")
    name = args.get("host")
    if name is not None and not (isinstance(name, str) and name in pool.hosts):
        raise DaemonError("unknown", f"no host {name!r}", f"hosts: {', '.join(pool.hosts) or 'none'}")
    names = list(pool.hosts) if name is None else [name]
    looks = await asyncio.gather(*(pool.device_status(one) for one in names))
    return [jsonable(look) for look in looks if look is not None]
