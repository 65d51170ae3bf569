"""The operators' commands: each checked against its declaration, refused or carried out, answered after its effect."""

from inspect import isawaitable
from typing import Any

from kpd.engine.engine import Engine
from kpd.engine.operations.effects import EFFECTS
from kpd.hosts.errors import HostError
from kpd.operations.catalogue import OPERATIONS
from kpd.operations.checking import checked
from kpd.wire import DaemonError
from kpd.workspace.task import TaskError


async def carry_out(engine: Engine, verb: str, args: dict[str, Any], by: str) -> dict[str, Any]:
    """Do what `verb` says. Raises DaemonError, and JournalError when the log cannot take it."""
    if verb not in EFFECTS:
        raise DaemonError("unknown", f"no command {verb!r}", f"commands: {', '.join(EFFECTS)}, shutdown")
    op = checked(OPERATIONS[verb], args)
    state = engine.journal.state
    target = op.target(state)
    if (refused := op.why_not(state, target)) is not None:
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
        raise DaemonError("infra", f"{err.filename or verb}: {err.strerror or err}", "check the disk") from err
    return {**op.answer(target), **(done or {})}
