"""What GPUs do at this moment, a line for each: figures, who has the lease, and what else computes on it."""

from collections.abc import Mapping
from typing import Any

from kpd.cli.text import clean
from kpd.client import ask
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace

PATIENCE_S = 5.0


def looks(ws: Workspace) -> dict[str, Any]:
    """What the devices of each host do, by the hosts' names; nothing where nobody can look, as on a recording."""
    try:
        return {look["host"]: look["devices"] for look in clean(ask(ws.socket, "query", "glance", timeout=PATIENCE_S))}
    except DaemonError:
        return {}


def now(host: Mapping[str, Any], devices: Mapping[str, Any]) -> list[str]:
    """The GPUs of a host card as `devices`, a look's, has them by their ids; nothing of what was not looked at."""
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
