"""kpd hosts add: appends a table for a host to config.toml and leaves the rest of the file as it is."""

import contextlib
import json
import re
from argparse import Namespace
from collections.abc import Container
from dataclasses import replace

from kpd.cli.check_hosts import check_directly
from kpd.cli.config_table import append
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.hosts_add_cluster import cluster_rows
from kpd.cli.hosts_trust import Refusal, ask_and_trust, settled
from kpd.cli.terminal_text import narrate, out
from kpd.text.foreign import visible
from kpd.workspace.address import Address
from kpd.workspace.config import Config, load_config
from kpd.workspace.host_tables import ANY, HOST_NAME, LOCAL, HostConfig
from kpd.workspace.paths import Workspace
from kpd.workspace.transports import is_on_demand

LONGEST_NAME = 32
BARE = re.compile(r"[A-Za-z0-9_-]+")


def add(ws: Workspace, args: Namespace) -> int:
    """Add the host to config.toml, and check it unless told otherwise. Return the exit code.

    Raises CliError where the host cannot be added: config.toml is then unchanged. Raises HostError, DaemonError and
    WorkspaceError, too, where the check of the added host fails.
    """
    config = load_config(ws)
    if is_on_demand(args.transport):
        return _add_cluster(ws, args, config)
    if args.set:
        remedy = "give the --transport of a scheduler, for example slurm, or edit config.toml"
        raise CliError(f"--set is of no use with {args.transport}", remedy)
    host = HostConfig(transport=args.transport, address=args.address, accept_new=args.accept_new)
    try:
        Address.parse(host.address)
    except ValueError as err:
        remedy = "write [user@]host[:port], or an alias of ~/.ssh/config"
        raise CliError(f"{host.address!r} is not an address", remedy) from err
    taken = next((name for name, other in config.hosts.items() if other.address == host.address), None)
    if taken is not None:
        raise CliError(f"{host.address} is there already, as {taken}", f"kpd doctor {taken} looks at it")
    name = _free_name(args.name or name_for(host.address, (ANY, *config.hosts)), config)
    write(ws, name, host)
    narrate(f"added {name} to {visible(str(ws.config))}")
    out(name)
    return OK if args.no_check else _look(ws, name, host)


def _add_cluster(ws: Workspace, args: Namespace, config: Config) -> int:
    """Add a host that a scheduler lends; its check is a trial allocation."""
    name = _free_name(args.name or "cluster", config)
    append(ws, _head(name), cluster_rows(args, config), lambda new: name in new.hosts)
    narrate(f"added {name} to {visible(str(ws.config))}")
    out(name)
    return OK if args.no_check else _look(ws, name, load_config(ws).hosts[name])


def _free_name(name: str, config: Config) -> str:
    """Return the name where a host may have it. Raises CliError."""
    if name in (ANY, LOCAL):
        means = "whichever host is free" if name == ANY else "this machine"
        raise CliError(f"{name!r} cannot be a host's name", f"it is reserved for {means}: give another --name")
    if not HOST_NAME.fullmatch(name):
        raise CliError(f"{name!r} cannot be a host's name", "use letters, digits, _ . and -")
    if name in config.hosts:
        raise CliError(f"there is a host {name} already", "give another --name")
    return name


def _look(ws: Workspace, name: str, host: HostConfig) -> int:
    """Check the new host over a link of this process: a running daemon may not have read config.toml again yet."""
    card = check_directly(ws, {name: host})[0]
    if card["offered"]:
        with contextlib.suppress(Refusal):
            ask_and_trust(ws, name, host, card["offered"])
            card = check_directly(ws, {name: host})[0]
    return settled(card)


def name_for(address: str, taken: Container[str]) -> str:
    """Make a name that is not `taken` from the host's first label, or its whole IP address. Raises ValueError."""
    host = Address.parse(address).host
    if not re.fullmatch(r"[0-9.]+|.*:.*", host):
        host = host.partition(".")[0]
    base = re.sub(r"[^A-Za-z0-9_.-]", "-", host).strip("-_.")[:LONGEST_NAME] or "host"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base[: LONGEST_NAME - len(str(number)) - 1]}-{number}"
    return name


def write(ws: Workspace, name: str, host: HostConfig) -> None:
    """Append the host's table. Raises CliError, and leaves the file unchanged, where the result would load wrongly."""
    rows = [f'transport = "{host.transport}"', f"address = {json.dumps(host.address, ensure_ascii=False)}"]
    if host.accept_new:
        rows.append("accept_new = true")
    append(ws, _head(name), rows, lambda new: name in new.hosts and replace(new.hosts[name], options=None) == host)


def _head(name: str) -> str:
    return f"[hosts.{name}]" if BARE.fullmatch(name) else f'[hosts."{name}"]'
