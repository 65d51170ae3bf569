"""Finds transports by name: kpd's own and those of plug-ins, entry points of the group `kpd.transports`."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kpd.workspace.address import Address
from kpd.workspace.entry_points import EntryPointGroup, PlugInError
from kpd.workspace.paths import Workspace

if TYPE_CHECKING:
    from kpd.workspace.host_tables import HostConfig


ASKED = "asked"
"""The entry of a key's metadata with what `kpd hosts add` asks for it, of a transport to hosts that are lent."""


class BadKey(Exception):
    """The error that a key of a [hosts.*] table does not fit the transport: the key, the fault, and the remedy."""

    def __init__(self, key: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.key = key
        self.message = message
        self.remedy = remedy


def needs_address(host: "HostConfig") -> None:
    """Check that `address` is one that `ssh` takes, for a transport that needs one. Raises BadKey."""
    if not host.address:
        raise BadKey("address", "is missing", "give what `ssh` takes: an alias of ~/.ssh/config or user@host")
    try:
        Address.parse(host.address)
    except ValueError as err:
        raise BadKey(
            "address", f"is not an address: {host.address!r}", "write [user@]host[:port], or an alias"
        ) from err


@dataclass(frozen=True, slots=True)
class TransportKind:
    """A transport as it is registered: an entry point of the group `kpd.transports` leads to one.

    `make` gets a host's name, its table and the workspace, and returns a `kpd.hosts.link.Transport`. It should import
    what it needs itself, because reading config.toml imports its module. `keys` is a frozen dataclass of the keys that
    only this transport has in a table; an instance of it becomes `HostConfig.options`. `check` raises BadKey. With
    `here` its hosts are this machine: its paths and users are known, and its CPU is that of host local. A host
    that is there `on_demand` is asked for when a run needs it and given back when none does: its transport is a
    `kpd.hosts.link.Allocator`.
    """

    make: Callable[[str, "HostConfig", Workspace], Any]
    keys: type | None = None
    check: Callable[["HostConfig"], None] = lambda host: None
    here: bool = False
    on_demand: bool = False


def _checked(found: object) -> TransportKind:
    if not isinstance(found, TransportKind):
        raise ValueError(f"it is {type(found).__name__} instead of a kpd.workspace.transports.TransportKind")
    if found.keys is not None and not dataclasses.is_dataclass(found.keys):
        raise ValueError(f"its keys are {found.keys!r} instead of a dataclass")
    return found


TRANSPORTS = EntryPointGroup("kpd.transports", _checked)


def is_on_demand(kind: str) -> bool:
    """Return whether hosts with this transport are asked for when a run needs them."""
    try:
        return (found := TRANSPORTS.get(kind)) is not None and found.on_demand
    except PlugInError:
        return False


def is_here(kind: str) -> bool:
    """Return whether hosts with this transport are this machine; False where it is broken or not installed."""
    try:
        return (found := TRANSPORTS.get(kind)) is not None and found.here
    except PlugInError:  # reported as the reason why the host is down
        return False
