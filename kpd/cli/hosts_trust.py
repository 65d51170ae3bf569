"""kpd hosts trust and retry: let a link continue that waits for a person."""

import contextlib
import sys
from argparse import Namespace
from typing import Any

from kpd.cli import checks
from kpd.cli.ask import command
from kpd.cli.check_hosts import check_hosts, trust_directly
from kpd.cli.exit_codes import FAILED, INFRA, OK, USAGE, CliError
from kpd.cli.parser import nearest
from kpd.cli.terminal_text import colours, columns, narrate, out
from kpd.client import DaemonError
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.paths import Workspace


class Refusal(Exception):
    """A person who did not say yes, or who cannot be asked."""


def trust(ws: Workspace, args: Namespace) -> int:
    host = known(ws, args.name)[args.name]
    card = check_hosts(ws, {args.name: host})[0]
    offered = card["offered"]
    if not offered:
        if card["link"] == "up":
            narrate(f"{args.name} is up: there is no key to trust")
            return OK
        raise CliError(f"{args.name} offers no new key: {visible(card['error'])}", code=INFRA)
    if args.fingerprint not in (None, offered):
        message = f"{args.name} offers {offered}, not {args.fingerprint}"
        raise CliError(message, "another machine may answer in its place: do not trust it", FAILED)
    try:
        ask_and_trust(ws, args.name, host, offered, sure=args.yes or args.fingerprint is not None)
    except Refusal as err:
        raise CliError("not trusted", f"kpd hosts trust {args.name} --fingerprint {offered}", USAGE) from err
    return settled(check_hosts(ws, {args.name: host})[0])


def retry(ws: Workspace, name: str) -> int:
    known(ws, name)
    return settled(command(ws, "nudge", host=name)["hosts"][0])


def known(ws: Workspace, *names: str) -> dict[str, HostConfig]:
    """Return the hosts of these names, or without names one of each table. Raises CliError, ConfigError."""
    hosts = load_config(ws).hosts
    for name in names:
        if name not in hosts:
            raise CliError(f"no host {name!r}", nearest(name, list(hosts)))
    return (
        {name: hosts[name] for name in names}
        if names
        else {name: host for name, host in hosts.items() if not host.table}
    )


def ask_and_trust(ws: Workspace, name: str, host: HostConfig, offered: str, sure: bool = False) -> None:
    """Have the host's key trusted if a person agrees. Raises Refusal, HostError, DaemonError."""
    if not sure:
        narrate(f"nobody has confirmed yet that this is the key of {name} ({visible(host.address)}):")
        narrate(f"  {visible(offered)}")
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            narrate(f"compare it with the host's own, then kpd hosts trust {name} --fingerprint {visible(offered)}")
            raise Refusal()
        sys.stderr.write("on the host, ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub prints it. The same? [yes/no] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("yes", "y"):
            raise Refusal()
    try:
        command(ws, "trust", host=name, fingerprint=offered)
    except DaemonError as err:
        if err.code not in ("no_daemon", "refused"):  # the daemon may not know a host yet that was just added
            raise
        trust_directly(ws, name, host, offered)
        with contextlib.suppress(DaemonError):
            command(ws, "nudge", host=name)


def settled(card: dict[str, Any]) -> int:
    """Print the host's checks, and return the exit code."""
    out(*checks.host(card, columns(), colours()))
    return checks.code((), [card])
