"""What is different on a host that a scheduler lends for a while: it ends, and takes with it what runs there."""

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kpd.hosts.errors import HostError
from kpd.hosts.job import fits
from kpd.hosts.link import Allocator, Link, Transport
from kpd.hosts.shared_root import builds_check
from kpd.model.hosts import Check

if TYPE_CHECKING:
    from kpd.hosts.host import Host

ROOM_S = 0.5  # between two looks whether a host that is given back soon is empty
ENDING = (-signal.SIGTERM, -signal.SIGKILL)  # how the jobs of an allocation end with it
TAKEN_S = 2.0  # for the link to break, where a job failed because its host is taken away


async def make_room(host: "Host", limit_s: float) -> None:
    """Give a host that is lent, and gone too soon for such a job, back once nothing runs there. Raises HostError."""
    transport = host.transport
    while isinstance(transport, Allocator) and (left := left_for(transport, limit_s)) is not None:
        if not host.at_work:
            await transport.give_back()
            await host.renew()
            message = f"{host.name} would be gone in {max(left, 0):.0f} s, and a job there may take {limit_s:.0f} s"
            raise HostError("unreachable", message, "kpd waits for the next allocation")
        await asyncio.sleep(ROOM_S)


def left_for(transport: Allocator, limit_s: float) -> float | None:
    """Return for how many seconds the host is still lent, where that is too short for work that may take `limit_s`."""
    if (left := transport.left_s()) is None:
        return None
    return None if fits(limit_s, left, transport.whole_s()) else left


async def is_taken_away(transport: Transport, link: Link, end: Mapping[str, Any], asked: bool) -> bool:
    """Return whether a job ended as the host that is lent did: how it ended then says nothing about it.

    Where it had ended before it was asked for, it may have been in a former allocation: nodes may share its folder, and
    a daemon that was killed has not removed it.
    """
    if not isinstance(transport, Allocator) or end["rc"] == 0:
        return False
    if end["cached"] and not asked:
        return end["rc"] in ENDING
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(link.broken.wait(), TAKEN_S)
    try:
        await link.ask("ping")  # the pipe of a helper that is gone may last: Slurm's does while its controller is away
    except HostError:
        return True
    return False


async def lender_checks(host: "Host") -> tuple[Check, ...]:
    """Look at what lends the host, while it is up; nothing for a host of one's own. Raises HostError."""
    if not isinstance(host.transport, Allocator):
        return ()
    own = await host.transport.checks(host.run, host.root)
    return (*own, await builds_check(host, host.builder)) if host.builder is not None else own
