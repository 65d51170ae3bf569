"""Reads the current status of a host's devices: GPU telemetry, compute processes, and holders of leases."""

import logging
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kpd.hosts.errors import HostError
from kpd.hosts.job import CommandResult
from kpd.model import clocks
from kpd.model.hosts import GpuProcess, HostCard, HostStatus, ProcessOwner, Telemetry
from kpd.text.foreign import plain

if TYPE_CHECKING:
    from kpd.hosts.host import Host

LIMIT_S = 10.0
"""nvidia-smi first wakes every GPU of a host when persistence mode is off."""
# The last field has a newer name, too; every driver that kpd supports knows this one.
GPU = ("uuid", "clocks.sm", "clocks.mem", "power.draw", "power.limit", "temperature.gpu", "memory.used",
       "utilization.gpu", "clocks_throttle_reasons.active")  # fmt: skip
APPS = ("gpu_uuid", "pid", "used_memory", "process_name")
FORM = "--format=csv,noheader,nounits"
BETWEEN = "== computes"
MOST_PROCESSES = 32
MOST_MHZ, MOST_W, MOST_C, MOST_MIB = 1e5, 1e5, 1e3, 1e8
OLDEST = 1e9
"""Earlier Unix times than this in a lock's file are ignored."""
log = logging.getLogger(__name__)

_GPU_ROW = re.compile(r"(?P<uuid>GPU-[0-9a-f-]{8,40})" + r", *([^,]{0,40})" * (len(GPU) - 1))
_APP_ROW = re.compile(r"(?P<uuid>GPU-[0-9a-f-]{8,40}), *(?P<pid>[0-9]{1,9}), *(?P<memory>[^,]{0,40}), *(?P<name>.*)")


async def status_of(host: "Host", card: HostCard) -> HostStatus:
    """Read what the host's devices do; a host where that fails may still work, so no error is raised."""
    gpus = any(device.kind == "gpu" for device in card.devices)
    devices: dict[str, Telemetry] = {}
    try:
        devices = await host.device_status([device.id for device in card.devices], gpus)
    except HostError as err:
        log.warning("the devices of host %s could not be looked at: %s", host.name, err)
    return HostStatus(host.name, time.time(), round(host.rtt_s * 1000, 3), devices)


def script() -> str:
    """Return the short command that queries nvidia-smi twice; the list of processes comes after BETWEEN."""
    return f"""LC_ALL=C; export LC_ALL
command -v nvidia-smi >/dev/null 2>&1 || {{ echo 'no nvidia-smi'; exit 1; }}
nvidia-smi --query-gpu={",".join(GPU)} {FORM} 2>&1 || exit 1
echo '{BETWEEN}'
nvidia-smi --query-compute-apps={",".join(APPS)} {FORM} 2>&1
"""


def figures(said: CommandResult | None) -> dict[str, Telemetry]:
    """Parse the answer of `script` into telemetry by UUID.

    `said` is None where nvidia-smi was not asked: the result is then empty. If it was asked and gave no list, the only
    key is empty, and its telemetry says why.
    """
    if said is None:
        return {}
    if said.rc is None:
        return {"": Telemetry(0.0, trouble=f"nvidia-smi does not answer within {LIMIT_S:g} s")}
    text = said.stdout.decode(errors="replace")
    head, _, tail = text.partition(f"\n{BETWEEN}\n")
    gpus = dict(_gpus(head))
    if not gpus:
        lines = [plain(row) for row in text.splitlines() if row.strip() and row != BETWEEN]
        return {"": Telemetry(0.0, trouble=lines[0] if lines else f"nvidia-smi ended with {said.rc} and said nothing")}
    apps = [found for row in tail.splitlines() if (found := _APP_ROW.fullmatch(row.strip()))]
    return {
        uuid: replace(seen, computes=tuple(_computes(row) for row in apps if row["uuid"] == uuid)[:MOST_PROCESSES])
        for uuid, seen in gpus.items()
    }


def _gpus(said: str) -> Iterator[tuple[str, Telemetry]]:
    for row in said.splitlines():
        found = _GPU_ROW.fullmatch(row.strip())
        if found is None:
            continue
        _, sm, memory, power, limit, temperature, used, busy, reasons = found.groups()
        yield found["uuid"], Telemetry(
            0.0, sm_mhz=_number(sm, MOST_MHZ), memory_mhz=_number(memory, MOST_MHZ), power_w=_number(power, MOST_W),
            power_limit_w=_number(limit, MOST_W), temperature_c=_number(temperature, MOST_C),
            memory_used_mib=_number(used, MOST_MIB), busy_pct=_number(busy, 100.0), slowed=_reasons(reasons),
        )  # fmt: skip


def _number(text: str, most: float) -> float | None:
    """Parse a figure; None for `[N/A]`, `[Unknown Error]` and the like, and for one over `most`."""
    if not re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", text.strip(), re.ASCII):
        return None
    value = float(text)
    return value if value <= most else None


def _reasons(text: str) -> tuple[str, ...]:
    found = re.fullmatch("0x([0-9a-fA-F]{1,16})", text.strip())
    return clocks.words(int(found[1], 16)) if found else ()


def _computes(row: re.Match[str]) -> GpuProcess:
    memory = _number(row["memory"], MOST_MIB)
    name = plain(row["name"].rpartition("/")[2], 60) or "?"
    return GpuProcess(int(row["pid"]), name, None if memory is None else int(memory))


def telemetry(
    devices: Sequence[str],
    found: Mapping[str, Telemetry],
    owners: Mapping[str, Any],
    tolerate: Sequence[str] = (),
    at: float = 0.0,
    skew_s: float = 0.0,
) -> dict[str, Telemetry]:
    """Build the telemetry of each device, read `at` that Unix time.

    `owners` is the helper's answer, `skew_s` the host's clock minus ours.
    """
    told = {}
    for device in devices:
        seen = _seen(device, found)
        computes = tuple(replace(one, whose=_whose(one, owners, tolerate)) for one in seen.computes)
        leased = _leased(seen, _of(owners, "leases").get(device), at, skew_s)
        told[device] = replace(leased, at=at, computes=computes)
    return told


def _seen(device: str, found: Mapping[str, Telemetry]) -> Telemetry:
    """Return nvidia-smi's figures of the device; for a CPU there are none."""
    if device == "cpu" or not found:
        return Telemetry(0.0)
    return found.get(device) or found.get("") or Telemetry(0.0, trouble="nvidia-smi does not list it any more")


def _of(owners: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = owners.get(key)
    return value if isinstance(value, Mapping) else {}


def _whose(one: GpuProcess, owners: Mapping[str, Any], tolerate: Sequence[str]) -> ProcessOwner:
    if one.name in tolerate:
        return "tolerated"
    owner = _of(owners, "owners").get(str(one.pid))
    return "kpd" if owner == "kpd" else "unseen" if owner == "unseen" else "foreign"


def _leased(seen: Telemetry, lease: object, at: float, skew_s: float) -> Telemetry:
    if not isinstance(lease, Mapping):
        return seen
    if (error := lease.get("error")) is not None:
        return replace(seen, unlocked=plain(str(error)))
    since = lease.get("since")
    began = float(since) - skew_s if isinstance(since, int | float) and math.isfinite(since) else 0.0
    holder = plain(str(lease.get("holder") or ""), 120)
    return replace(seen, holder=holder, since=began if OLDEST < began <= at else 0.0)
