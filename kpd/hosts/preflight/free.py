"""Whether the GPUs of a host are free at this moment. It is told to who asks, and is no part of a card that is kept."""

import json
import re

from kpd.model.places import Check, Computes, Device, HostCard, Telemetry

NAME = "gpu use"
WHOSE = {
    "kpd": "kpd's own",
    "tolerated": "tolerated",
    "foreign": "not kpd's, measurements wait for its end",
    "unseen": "of another container, or gone",
}


def free(card: HostCard) -> tuple[Check, ...]:
    """A check for each GPU that was looked at: none on a host that is down."""
    if card.link != "up":
        return ()
    gpus = [device for device in card.devices if device.kind == "gpu"]
    return tuple(
        _check(card.name, f"{_bus(gpu)}: " if len(gpus) > 1 else "", gpu.telemetry) for gpu in gpus if gpu.telemetry
    )


def _check(host: str, which: str, seen: Telemetry) -> Check:
    if seen.trouble:
        return Check(NAME, "off", f"{which}nobody knows: {seen.trouble}")
    memory = [] if seen.memory_used_mib is None else [f"{seen.memory_used_mib:.0f} MiB in use"]
    lease = [f"leased by {seen.holder}"] if seen.holder else []
    who = [_process(one) for one in seen.computes] or lease or ["free"]
    found = which + "; ".join([*who, *memory])
    foreign = list(dict.fromkeys(one.name for one in seen.computes if one.whose == "foreign"))
    if foreign:
        names = json.dumps(foreign, ensure_ascii=False)
        remedy = f"wait for its end or end it; tolerate = {names} in [hosts.{host}] of config.toml lets it stay if idle"
        return Check(NAME, "bad", found, remedy)
    return Check(NAME, "off" if any(one.whose == "unseen" for one in seen.computes) else "ok", found)


def _process(one: Computes) -> str:
    memory = "" if one.memory_mib is None else f", {one.memory_mib} MiB"
    return f"{one.name} (pid {one.pid}{memory}): {WHOSE[one.whose]}"


def _bus(gpu: Device) -> str:
    """The bus id, without its domain where that is the usual one."""
    return re.sub("^0+:(?=.*:)", "", gpu.pci) or gpu.id
