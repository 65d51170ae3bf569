"""Asks for the hosts that schedulers lend when runs want them, and gives back those that no run needs any more."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from math import inf
from typing import cast

from kpd.hosts.errors import HostError, Pending
from kpd.hosts.host import Host
from kpd.hosts.link import Allocator
from kpd.model.hosts import HostCard
from kpd.model.waits import ForAllocation
from kpd.workspace.host_tables import HostConfig, builder_of
from kpd.workspace.transports import is_on_demand

log = logging.getLogger(__name__)


class OnDemand:
    """The hosts that runs want now, and those that stand idle, by name. `give_back` begins to give an idle one back.

    `asks` is called before one is asked for. `left` are those that a former daemon has not given back.
    """

    def __init__(
        self, give_back: Callable[[str, Host], None], asks: Callable[[str], None], left: Collection[str] = ()
    ) -> None:
        self.left = set(left)
        self._asks = asks
        self._give_back = give_back
        self._wanted: frozenset[str] = frozenset()
        self._held = False
        self._used: dict[str, int] = {}  # by host: the machine that a run had, as the host numbers them
        self._idle: dict[str, asyncio.TimerHandle] = {}

    def want(self, names: Collection[str], hosts: Mapping[str, Host], held: bool) -> None:
        """Ask for the hosts of these names that are there on demand; give others back once they were idle for long.

        Where one builds elsewhere, that host is wanted, too, once the first is there. What a former daemon has left and
        no run wants goes back at once, and so does what no run has had since it began (the last one ended just then);
        but not while the queue or a run is `held`: a person may want it back.
        """
        self._held = held
        wanted = [hosts[name] for name in names if name in hosts]
        builders = {host.builder.name for host in wanted if host.builder is not None}
        names = {*names, *(host.builder.name for host in wanted if host.builder is not None and host.up)}
        self._wanted = frozenset(names)
        for name, host in hosts.items():
            if not is_on_demand(host.transport.kind):
                continue
            if name in names:
                self.forget(name)
                self.left.discard(name)
                if host.up:
                    self._used[name] = host.machine
                if not host.kept:
                    self._asks(name)
                    host.start()
            elif host.up and self._used.get(name) != host.machine and not held:
                self.began_in_vain(name, host)
            elif name not in self._idle and (host.kept or (name in self.left - builders and not held)):
                idle_s = cast(Allocator, host.transport).idle_s if host.kept else 0.0
                self._idle[name] = asyncio.get_running_loop().call_later(idle_s, self._is_idle, name, host)

    def wants(self, name: str) -> bool:
        """Return whether a run wants the host."""
        return name in self._wanted

    def began_in_vain(self, name: str, host: Host) -> bool:
        """Give a host back at once that begins when no run wants it any more; return whether this is such a one."""
        if not is_on_demand(host.transport.kind) or self.wants(name) or self._held:
            return False
        self.forget(name)
        self._give_back(name, host)
        return True

    async def release(self, name: str, host: Host) -> None:
        """Give a host back, also one that a former daemon has asked for."""
        if name in self.left:
            self.left.discard(name)
            try:
                await cast(Allocator, host.transport).give_back()
            except HostError as err:
                log.warning("what a former daemon had asked for ends by itself: %s", err)
        await host.release()

    def forget(self, name: str) -> None:
        """Give a host back no more: a run wants it again, or it is gone."""
        if (timer := self._idle.pop(name, None)) is not None:
            timer.cancel()

    def _is_idle(self, name: str, host: Host) -> None:
        self._idle.pop(name, None)
        self._give_back(name, host)


def still_lent(cards: Mapping[str, HostCard]) -> set[str]:
    """Return the hosts that were asked for, and not given back, when their cards were last written."""
    return {name for name, card in cards.items() if is_on_demand(card.transport) and card.standing != "released"}


def let_build(configs: Mapping[str, HostConfig], hosts: Mapping[str, Host]) -> None:
    """Tell each host where its candidates are built, where its table has another host for that."""
    for name, config in configs.items():
        hosts[name].builder = hosts.get(builder_of(name, config, configs) or "")


def is_taken_away(host: Host) -> bool:
    """Return whether the host was lent and is gone: it is asked for anew, or nobody asks. A lost link may come back."""
    trouble = host.trouble if is_on_demand(host.transport.kind) else None
    return trouble is not None and trouble.kind not in ("unreachable", "helper_died")


def allocation(hosts: Collection[Host]) -> ForAllocation | None:
    """Return what these hosts wait for, as far as they were asked for and none has begun: that which begins first."""
    waits = [host.trouble.waits for host in hosts if isinstance(host.trouble, Pending)]
    return min(waits, key=lambda one: (one.begins or inf, one.host), default=None)
