"""Reads the [hosts.*] tables of config.toml, with the keys of each one's transport."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from kpd.workspace.entry_points import PlugInError
from kpd.workspace.paths import WorkspaceError, expanded
from kpd.workspace.strict import Document, Text, nearest
from kpd.workspace.transports import TRANSPORTS, BadKey, is_here

LOCAL = "local"
ANY = "any"
"""Stands for a host's name: any host that fits the task and is free."""
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")


@dataclass(frozen=True, slots=True)
class HostConfig:
    """A machine where commands run, and how it is reached. Paths on it begin with `/` or `~`.

    `transport` is a name of `kpd.transports`; `options` are the keys that only this transport has, None where it has
    none. `address` is what `ssh` accepts: an alias of ~/.ssh/config, or [user@]host[:port]. With `accept_new` an
    unknown host key is trusted at first sight. `control_path` is the socket of an OpenSSH master that the operator has
    opened. `python` is the host's interpreter; `local` uses kpd's own. `gpus` are the ones to use, by index or UUID
    (empty: all). `tolerate` names compute processes that may stay on a GPU while it measures. `leases` is the folder of
    locks that all daemons on the host share. `enter` is a command that starts a program in a container there: all of
    kpd's work, paths and `python` are then inside. `reads` and `writes` are folders that sandboxed jobs may read
    beside the system's, and write beside their own. `table` is the name of its table where that makes several hosts.
    One that only `builds` measures nothing: what the other hosts of its table measure is compiled there.
    """

    transport: Text = LOCAL
    address: str = ""
    accept_new: bool = False
    control_path: str = ""
    compression: bool = False
    python: Text = "python3"
    enter: tuple[Text, ...] = ()
    root: str = ""
    leases: Text = "/tmp/kpd-leases"
    cuda_home: str = ""
    gpus: tuple[int | str, ...] = ()
    tolerate: tuple[Text, ...] = ()
    reads: tuple[Text, ...] = ()
    writes: tuple[Text, ...] = ()
    options: Any = None
    table: str = ""
    builds: bool = False


def read_hosts(document: Document) -> dict[str, HostConfig]:
    """Read the hosts of config.toml; `local` is always among them. Raises ConfigError."""
    tables = document.table.get("hosts", {})
    hosts = {LOCAL: HostConfig(), **{name: _host(document, name, table) for name, table in tables.items()}}
    for name, host in hosts.items():
        _check_via(document, name, host, hosts)
    return dict(_each(document, hosts))


def _host(document: Document, name: str, table: object) -> HostConfig:
    """Read one [hosts.*] table. Raises ConfigError.

    Where a plug-in fails to provide the transport, only the keys that all transports share are read: the host will be
    down.
    """
    known = [each.name for each in fields(HostConfig) if each.name not in ("options", "table", "builds")]
    own = {key: value for key, value in table.items() if key not in known} if isinstance(table, dict) else {}
    common = {key: table[key] for key in table if key in known} if isinstance(table, dict) else table
    host = document.part(common, HostConfig, "hosts", name)
    _check_host(document, name, host)
    try:
        kind = TRANSPORTS.get(host.transport) if host.transport != LOCAL else None
    except PlugInError:
        return host
    if kind is None and host.transport != LOCAL:
        message = f"'transport' in [hosts.{name}] is {host.transport!r}: no such transport"
        remedy = nearest(host.transport, TRANSPORTS.names())
        raise document.error(message, remedy, "hosts", name, "transport")
    keys = kind.keys if kind is not None else None
    known += [each.name for each in fields(keys)] if keys is not None else []
    for key, value in own.items():
        if key not in known:
            raise document.unknown(key, isinstance(value, dict), known, "hosts", name)
    try:
        if keys is not None:
            host = replace(host, options=document.part(own, keys, "hosts", name))
        if kind is not None:
            kind.check(host)
    except BadKey as err:
        message = f"'{err.key}' in [hosts.{name}] {err.message}"
        raise document.error(message, err.remedy, "hosts", name, err.key) from err
    return host


def _check_via(document: Document, name: str, host: HostConfig, hosts: Mapping[str, HostConfig]) -> None:
    """Check the host through which another is reached, where its transport has the key `via`. Raises ConfigError."""
    via = getattr(host.options, "via", "")
    if not via:
        return
    remedy = f"name another host of this file: {', '.join(hosts)}"
    if via not in hosts:
        raise document.error(f"'via' in [hosts.{name}] names {via!r}, which is no host", remedy, "hosts", name, "via")
    if getattr(hosts[via].options, "via", None) is not None:
        message = f"'via' in [hosts.{name}] names {via!r}, which is reached through a scheduler itself"
        raise document.error(message, remedy, "hosts", name, "via")


def _each(document: Document, hosts: Mapping[str, HostConfig]) -> Iterator[tuple[str, HostConfig]]:
    """Yield the hosts of all tables: of one with `max_allocations` as many, called NAME, NAME.2 and so on.

    One that is told where to build has another, NAME.build. Raises ConfigError.
    """
    for name, host in hosts.items():
        yield name, host
        if (options := getattr(host.options, "of_builds", None)) is not None:
            if (builder := f"{name}.build") in hosts or not HOST_NAME.fullmatch(builder):
                message = f"[hosts.{name}.build] makes a host {builder}, which there is, or is too long"
                raise document.error(message, "give one of them another name", "hosts", name, "build")
            yield builder, replace(host, table=name, options=options, builds=True)
        for number in range(2, 1 + getattr(host.options, "max_allocations", 1)):
            if (further := f"{name}.{number}") in hosts or not HOST_NAME.fullmatch(further):
                message = f"'max_allocations' in [hosts.{name}] makes a host {further}, which there is, or is too long"
                raise document.error(message, "give one of them another name", "hosts", name, "max_allocations")
            yield further, replace(host, table=name)


def builder_of(name: str, config: HostConfig, hosts: Mapping[str, HostConfig]) -> str | None:
    """Return the host where candidates are built for this one, if that is another."""
    table = config.table or name
    return next((one for one, its in hosts.items() if its.builds and its.table == table and not config.builds), None)


def _check_host(document: Document, name: str, host: HostConfig) -> None:
    """Check the rules that hold for a host of any transport. Raises ConfigError."""
    if name == ANY:
        remedy = "it is reserved for whichever host is free: give this one another name"
        raise document.error(f"{name!r} cannot be a host's name", remedy, "hosts", name)
    if not HOST_NAME.fullmatch(name):
        raise document.error(f"{name!r} cannot be a host's name", "use letters, digits, _ . and -", "hosts", name)
    for key, path in (("root", host.root), ("leases", host.leases), ("cuda_home", host.cuda_home)):
        if path and not path.startswith(("/", "~")):
            message = f"'{key}' in [hosts.{name}] is no absolute path: {path!r}"
            raise document.error(message, "begin it with / or ~/", "hosts", name, key)
        if (
            path and not host.enter and (host.transport == LOCAL or is_here(host.transport))
        ):  # users of another machine are not known here
            try:
                expanded(path)
            except WorkspaceError as err:
                message = f"'{key}' in [hosts.{name}]: {err.message}"
                raise document.error(message, err.remedy, "hosts", name, key) from err
    if host.transport == LOCAL and host.address:
        message, remedy = f"'address' in [hosts.{name}] needs a transport", 'write transport = "ssh"'
        raise document.error(message, remedy, "hosts", name, "address")
    if host.transport != LOCAL and name == LOCAL:
        message, remedy = "[hosts.local] is this machine", "give the other host another name"
        raise document.error(message, remedy, "hosts", name, "transport")
