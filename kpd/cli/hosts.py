"""kpd hosts: lists hosts with the state of their GPUs; adds, trusts and retries them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from kpd.cli import checks
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import INFRA, OK, USAGE, CliError
from kpd.cli.parser import add_json, add_workspace_below
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, wrapped
from kpd.client import ask
from kpd.hosts.preflight.gpus import listed
from kpd.model.hosts import standing
from kpd.text import numbers
from kpd.wire import DaemonError
from kpd.workspace.host_tables import LOCAL
from kpd.workspace.paths import Workspace
from kpd.workspace.transports import TRANSPORTS

STANDS = {"pending": "asked for", "released": "not allocated"}


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)
    verbs = parser.add_subparsers(dest="what", metavar="add|trust|retry")
    add = verbs.add_parser("add", help="add a host to config.toml, and check it")
    add.add_argument(
        "address",
        metavar="[USER@]HOST[:PORT]",
        help="an address as for ssh, or an alias of ~/.ssh/config; for a scheduler the host to go through, or local",
    )
    add.add_argument("--name", help="the host's name in kpd (default: the first part of the address)")
    add.add_argument("--transport", choices=elsewhere(), default="ssh", help="see config.toml.example")
    add.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="a key of a host that a scheduler lends; repeat it for more"
    )
    add.add_argument("--accept-new", action="store_true", help="trust an unknown host key")
    add.add_argument("--no-check", action="store_true", help="do not connect")
    trust = verbs.add_parser("trust", help="trust the key that a host offers")
    trust.add_argument("name", metavar="HOST")
    trust.add_argument("--fingerprint", metavar="SHA256:…", help="trust only this key, without asking")
    trust.add_argument("--yes", action="store_true", help="trust the offered key without asking")
    retry = verbs.add_parser("retry", help="connect to a host again now")
    retry.add_argument("name", metavar="HOST")
    add_workspace_below(verbs)


def elsewhere() -> list[str]:
    """Return the names of the installed transports to other machines, without importing any. Raises PlugInError."""
    return [name for name in TRANSPORTS.names() if name != LOCAL]


def execute(args: Namespace) -> int:
    ws = workspace(args)
    if args.what is not None:
        return _change(ws, args)
    if args.json:
        out_json(query(ws, "hosts"))
        return OK
    answer, seen = clean(query(ws, "status")), looks(ws)
    for card in answer["hosts"].values():
        runs = [run for run in answer["runs"].values() if run["host"] == card["name"]]
        waiting = [f"{run['id']}: {run['waits']}" for run in runs if run["waits"]]
        out(*report(card, columns(), waiting, seen.get(card["name"])))
    if not answer["hosts"]:
        narrate("no host was probed yet; the daemon does it when it starts, kpd doctor does it now")
    return OK


def _change(ws: Workspace, args: Namespace) -> int:
    from kpd.cli import hosts_add, hosts_trust
    from kpd.hosts.errors import HostError

    try:
        match args.what:
            case "add":
                return hosts_add.add(ws, args)
            case "trust":
                return hosts_trust.trust(ws, args)
        return hosts_trust.retry(ws, args.name)
    except HostError as err:
        raise CliError(err.message, err.remedy, USAGE if err.kind == "config" else INFRA) from err


def report(
    host: dict[str, Any], limit: int | None, waiting: Sequence[str] = (), seen: Mapping[str, Any] | None = None
) -> list[str]:
    """Format one host as lines.

    `waiting` are its waiting runs, each with what it waits for; `seen` is what its devices do now.
    """
    gpus = [device for device in host["devices"] if device["kind"] == "gpu"]
    rooflines = [_peaks(host), *(f"{gpu['name']} {peaks}" for gpu in gpus if (peaks := _peaks(gpu)))]
    facts = {
        "system": host["system"],
        "device": host["device"],
        "gpus": listed((gpu["name"], gpu["arch"], gpu["memory_mib"]) for gpu in gpus),
        "pinned to": "" if host["cpu"] is None else f"CPU {host['cpu']}",
        "compiler": host["compiler"],
        "counters": host["counters"],
        "roofline": "; ".join(filter(None, rooflines)),
        "checks": checks.brief(host["checks"]) if host["link"] == "up" else "",
        "error": host["error"],
        "waiting": ", ".join(waiting),
    }
    sign = "●" if host["link"] == "up" else "○"
    stands = STANDS.get(standing(host["link"], host["trouble"]), host["link"])
    reached = f"{host['transport']} to {host['address']}" if host["address"] else host["transport"]
    trip = f", {host['rtt_ms']:.1f} ms" if host["rtt_ms"] is not None else ""
    lines = [f"{sign} {host['name']} ({reached}, {stands}{trip})"]
    for name, fact in facts.items():
        if fact:
            lines += wrapped(f"{name:<10} {fact}", limit, "  ")
    for fact in now(host, seen or {}):
        lines += wrapped(f"{'now':<10} {fact}", limit, "  ")
    return lines


def _peaks(measured: dict[str, Any]) -> str:
    """Format the measured peaks of a GPU, or of the host's CPU; empty where they were not measured."""
    units = (("bandwidth_gbs", "GB/s"), ("peak_gflops", "GFLOP/s"))
    return ", ".join(f"{numbers.number(measured[key])} {unit}" for key, unit in units if measured[key] is not None)


PATIENCE_S = 5.0


def looks(ws: Workspace) -> dict[str, Any]:
    """Return what the devices of each host do now, by host name; empty where nobody can look, as in a recording."""
    try:
        return {look["host"]: look["devices"] for look in clean(ask(ws.socket, "query", "glance", timeout=PATIENCE_S))}
    except DaemonError:
        return {}


def now(host: Mapping[str, Any], devices: Mapping[str, Any]) -> list[str]:
    """Format what the GPUs of a host card do now; `devices` is their telemetry by id. A GPU without it is left out."""
    gpus = [device for device in host["devices"] if device["kind"] == "gpu" and device["id"] in devices]
    return [
        (f"{gpu['pci']}: " if len(gpus) > 1 and gpu["pci"] else "") + _told(devices[gpu["id"]], gpu["memory_mib"])
        for gpu in gpus
    ]


def _told(seen: Mapping[str, Any], memory_mib: int) -> str:
    if seen["trouble"]:
        return str(seen["trouble"])
    parts = [
        _figure(seen["sm_mhz"], "MHz"),
        _figure(seen["power_w"], "W", seen["power_limit_w"]),
        _figure(seen["temperature_c"], "°C"),
        _figure(seen["memory_used_mib"], "MiB", memory_mib),
        _figure(seen["busy_pct"], "% busy"),
        f"clock held by: {', '.join(seen['slowed'])}" if seen["slowed"] else "",
        f"lease: {seen['holder']}" if seen["holder"] else seen["unlocked"] or "no lease",
        *(f"not kpd's: {one['name']} ({one['pid']})" for one in seen["computes"] if one["whose"] == "foreign"),
    ]
    return ", ".join(filter(None, parts))


def _figure(value: float | None, unit: str, most: float | None = None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} of {most:,.0f} {unit}" if most else f"{value:,.0f} {unit}"
