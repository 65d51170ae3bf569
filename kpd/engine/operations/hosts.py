"""Implements operations on hosts: check, retry, trust."""

import asyncio
from typing import Any

from kpd.engine.engine import Engine
from kpd.operations.machines import CheckHosts, RetryLink, TrustHost
from kpd.operations.operation import Refused


async def check_hosts(engine: Engine, op: CheckHosts, target: None, by: str) -> dict[str, Any]:
    """Check one host or all at the same time: a host that hangs does not delay the others."""
    names = [_known(engine, op.host)] if op.host else list(engine.pool.hosts)
    return {"hosts": await asyncio.gather(*(engine.pool.check(name) for name in names))}


async def nudge(engine: Engine, op: RetryLink, target: None, by: str) -> dict[str, Any]:
    return {"hosts": [await engine.pool.check(_known(engine, op.host))]}


async def trust(engine: Engine, op: TrustHost, target: None, by: str) -> dict[str, Any]:
    await engine.pool.trust(_known(engine, op.host), op.fingerprint)
    return {"host": op.host}


def _known(engine: Engine, name: str) -> str:
    if name not in engine.pool.hosts:
        raise Refused(f"no host {name!r}", f"hosts: {', '.join(engine.pool.hosts)}; kpd hosts add adds one")
    return name
