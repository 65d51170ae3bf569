"""Asks for the hosts that schedulers lend when runs want them, and gives back those that no run needs any more."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import cast

from kpd.hosts.errors import Pending
from kpd.hosts.host import Host
from kpd.hosts.link import Allocator
from kpd.model.waits import ForAllocation
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.transports import is_on_demand


class OnDemand:
    """The hosts that runs want now, and those that stand idle, by name. `give_back` begins to give an idle one back."""

    def __init__(self, give_back: Callable[[str, Host], None]) -> None:
        self._give_back = give_back
        self._wanted: frozenset[str] = frozenset()
        self._idle: dict[str, asyncio.TimerHandle] = {}

    def want(self, names: Collection[str], hosts: Mapping[str, Host]) -> None:
        """Ask for the hosts of these names that are there on demand; give others back once they were idle for long.

        Where one builds elsewhere, that host is wanted, too, once the first is there.
        """
        there = (hosts[name] for name in names if name in hosts and hosts[name].up)
        names = {*names, *(host.builder.name for host in there if host.builder is not None)}
        self._wanted = frozenset(names)
        for name, host in hosts.items():
            if not is_on_demand(host.transport.kind):
                continue
            if name in names:
                self.forget(name)
                host.start()
            elif host.kept and name not in self._idle:
                idle_s = cast(Allocator, host.transport).idle_s
                self._idle[name] = asyncio.get_running_loop().call_later(idle_s, self._is_idle, name, host)

    def wants(self, name: str) -> bool:
        """Return whether a run wants the host."""
        return name in self._wanted

    def forget(self, name: str) -> None:
        """Give a host back no more: a run wants it again, or it is gone."""
        if (timer := self._idle.pop(name, None)) is not None:
            timer.cancel()

    def _is_idle(self, name: str, host: Host) -> None:
        self._idle.pop(name, None)
        self._give_back(name, host)


def let_build(configs: Mapping[str, HostConfig], hosts: Mapping[str, Host]) -> None:
    """Tell each host where its candidates are built, where its table has another host for that."""
    builders = {config.table: hosts[name] for name, config in configs.items() if config.builds}
    for name, config in configs.items():
        hosts[name].builder = None if config.builds else builders.get(config.table or name)


def is_taken_away(host: Host) -> bool:
    """Return whether the host was lent and is gone: it is asked for anew, or nobody asks. A lost link may come back."""
    trouble = host.trouble if is_on_demand(host.transport.kind) else None
    return trouble is not None and trouble.kind not in ("unreachable", "helper_died")


def allocation(hosts: Collection[Host]) -> ForAllocation | None:
    """Return what one of these hosts waits for, if it was asked for and has not begun."""
    troubles = (host.trouble for host in hosts)
    return next((trouble.waits for trouble in troubles if isinstance(trouble, Pending)), None)
