"""What is different on a host that a scheduler lends for a while: it ends, and takes with it what runs there."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from kpd.hosts.job import fits
from kpd.hosts.link import Allocator, Link, Transport
from kpd.model.hosts import Check

if TYPE_CHECKING:
    from kpd.hosts.host import Host

TAKEN_S = 2.0  # for the link to break, where a job failed because its host is taken away


def left_for(transport: Transport, limit_s: float) -> float | None:
    """Return for how many seconds the host is still lent, where that is too short for work that may take `limit_s`."""
    if not isinstance(transport, Allocator) or (left := transport.left_s()) is None:
        return None
    return None if fits(limit_s, left, transport.whole_s()) else left


async def is_taken_away(transport: Transport, link: Link) -> bool:
    """Return whether a host that is lent just ends: how its jobs ended then says nothing about them."""
    if not isinstance(transport, Allocator):
        return False
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(link.broken.wait(), TAKEN_S)
    return not link.up


async def lender_checks(host: "Host") -> tuple[Check, ...]:
    """Look at what lends the host, while it is up; nothing for a host of one's own. Raises HostError."""
    return await host.transport.checks(host.run, host.root) if isinstance(host.transport, Allocator) else ()
