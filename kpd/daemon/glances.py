"""The one question that is answered by the hosts: what their devices do at this moment.

    glance    [Look]     host=every one that is up

Nothing of it is written to the log: who watches asks every few seconds, and when nobody does, nothing is asked.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from kpd.engine.fleet import Fleet
from kpd.model.codec import jsonable
from kpd.wire import DaemonError


async def answer(fleet: Fleet, args: Mapping[str, object]) -> list[Any]:
    """The looks as plain JSON values, all hosts at once. Raises DaemonError."""
    if strange := sorted(args.keys() - {"host"}):
        raise DaemonError("usage", f"query glance takes no {strange[0]!r}", "it takes: host")
    name = args.get("host")
    if name is not None and not (isinstance(name, str) and name in fleet.hosts):
        raise DaemonError("unknown", f"no host {name!r}", f"hosts: {', '.join(fleet.hosts) or 'none'}")
    names = list(fleet.hosts) if name is None else [name]
    looks = await asyncio.gather(*(fleet.glance(one) for one in names))
    return [jsonable(look) for look in looks if look is not None]
