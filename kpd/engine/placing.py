"""Which device a run may have: a pure function of the hosts as they are known, the task's need, and what is taken."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kpd.model.nouns import Run
from kpd.model.places import Device, HostCard, Need
from kpd.model.standing import AtHost, ForDevice
from kpd.workspace.config import ANY, RECORDED


@dataclass(frozen=True, slots=True)
class Place:
    """A device of a host that a run may have."""

    host: str
    device: Device


def place(
    run: Run,
    kind: Literal["cpu", "gpu"],
    need: Need,
    hosts: Mapping[str, HostCard],
    taken: Collection[tuple[str, str]],
) -> Place | ForDevice:
    """The first free device that fits, or what the run waits for. `taken` are pairs of host and device id.

    A run that has begun goes on where it began, and nowhere else: times of two devices are never compared.
    """
    reasons = []
    for name in _names(run, hosts):
        found = _on(name, hosts.get(name), run, kind, need, taken)
        if isinstance(found, Device):
            return Place(name, found)
        reasons.append(found)
    return ForDevice(run.id, tuple(reasons))


def could_have(
    run: Run, kind: Literal["cpu", "gpu"], need: Need, hosts: Mapping[str, HostCard]
) -> Iterator[tuple[str, Device]]:
    """The devices that fit a run that has not begun, with their hosts: also where nobody can be reached just now."""
    for name in _names(run, hosts):
        card = hosts.get(name)
        for device in card.devices if card is not None else ():
            if device.kind == kind and _fits(device, need):
                yield name, device


def _names(run: Run, hosts: Mapping[str, HostCard]) -> list[str]:
    """The hosts that the run may be on."""
    if run.host not in ("", ANY):
        return [run.host]
    # A recording has answers to what was recorded alone: a run there is asked for by name.
    return [name for name, card in hosts.items() if card.transport != RECORDED]


def _on(
    name: str,
    card: HostCard | None,
    run: Run,
    kind: Literal["cpu", "gpu"],
    need: Need,
    taken: Collection[tuple[str, str]],
) -> Device | AtHost:
    if card is None:
        return AtHost(name, "gone")
    if card.link == "down":
        return AtHost(name, "down", card.error)
    if run.started is not None:
        return _again(card, run)
    fitting = [device for device in card.devices if device.kind == kind and _fits(device, need)]
    if not fitting:
        return AtHost(name, "unfit", _wanted(kind, need))
    free = [device for device in fitting if (card.name, device.id) not in taken]
    return free[0] if free else AtHost(name, "taken")


def _again(card: HostCard, run: Run) -> Device | AtHost:
    device = next((device for device in card.devices if device.id == (run.device_id or "cpu")), None)
    if device is None or device.name != run.device:
        return AtHost(card.name, "moved", run.device, tuple(device.name for device in card.devices))
    return device


def _fits(device: Device, need: Need) -> bool:
    return need.gpu.lower() in device.name.lower() and need.arch in ("", device.arch)


def _wanted(kind: str, need: Need) -> str:
    words = [kind.upper()]
    if need.gpu:
        words.append(f"that is a {need.gpu}")
    if need.arch:
        words.append(f"with {need.arch}" if not need.gpu else f"and has {need.arch}")
    return " ".join(words)
