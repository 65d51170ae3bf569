"""Chooses the device of a run: a pure function of the known hosts, the task's need, and the devices in use.

`devices_in_use` is a pure function, too: of the runs that are bound to a device already, and the time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

from kpd.engine import plan
from kpd.model.hosts import Device, DeviceRef, HostCard, Need
from kpd.model.lanes import current_in, lanes_on, measures_in
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Running
from kpd.model.waits import AtHost, ForDevice, Wait
from kpd.workspace.host_tables import ANY
from kpd.workspace.transports import is_on_demand

GRACE_S = 2.0
"""How long a run thinks before another may begin on its device. A sweep thinks for milliseconds: too short to share."""
MOST_SHARING = 4
"""The most runs that share one device: each has an agent that may cost money, and a person has to follow it."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A device of a host that a run may have."""

    host: str
    device: Device

    @property
    def ref(self) -> DeviceRef:
        return self.host, self.device.id


def place(
    run: Run,
    kind: Literal["cpu", "gpu"],
    need: Need,
    hosts: Mapping[str, HostCard],
    taken: Collection[DeviceRef],
    shared: Collection[DeviceRef] = (),
) -> Placement | ForDevice:
    """Choose the first free device that fits the run, or return what the run waits for.

    Devices in `taken` are not free; those in `shared` have other runs and come last. A run that has begun goes on where
    it began, and nowhere else, or in another allocation of the same table with a device of the same kind: times of two
    devices are never compared. Where its own host is there again, and allocations have only devices of another kind, it
    is one of these: the caller sees that by `Run.device_kind`.
    """
    for avoided in ({*taken, *shared}, taken):
        reasons: list[AtHost] = []
        for name in _names(run, hosts):
            found = _on(name, hosts.get(name), run, kind, need, avoided)
            if isinstance(found, Device):
                return Placement(name, found)
            reasons.append(found)
    may_come = any(one.why == "taken" or (one.why == "down" and one.host == run.host) for one in reasons)
    if run.started is not None and not may_come:
        others = (card for name in _names(run, hosts) if (card := hosts.get(name)) is not None)
        return next(_of_another_kind(others, kind, need, taken), None) or ForDevice(run.id, tuple(reasons))
    return ForDevice(run.id, tuple(reasons))


def _of_another_kind(
    cards: Iterable[HostCard], kind: Literal["cpu", "gpu"], need: Need, taken: Collection[DeviceRef]
) -> Iterator[Placement]:
    """Yield the free devices of allocations that fit the task, but are of another kind than the run's so far."""
    for card in cards:
        if card.link == "up" and is_on_demand(card.transport):
            for device in card.devices:
                if device.kind == kind and _fits(device, need) and (card.name, device.id) not in taken:
                    yield Placement(card.name, device)


def wanted_hosts(found: Wait, hosts: Mapping[str, HostCard], others: Collection[str] = (), most: int = 1) -> set[str]:
    """Return the hosts that are down and that a run with this wait would begin on, or goes on at, if they were up.

    Of several hosts of one table it is one: that which `others`, further runs, neither have nor want, if there is one,
    and rather one that is asked for already. A run that can use several has up to `most` of a table, none of `others`.
    """
    down = [one.host for one in found.hosts if one.why == "down"] if isinstance(found, ForDevice) else []
    chosen: dict[str, list[str]] = {}
    for name in sorted(down, key=lambda name: (name in others, not _is_asked_for(hosts.get(name)))):
        mine = chosen.setdefault(table_of(name, hosts), [])
        if not mine or (len(mine) < most and name not in others):
            mine.append(name)
    return {name for mine in chosen.values() for name in mine}


def _is_asked_for(card: HostCard | None) -> bool:
    return card is not None and card.standing == "pending"


def devices_in_use(state: State, at: float) -> dict[DeviceRef, float]:
    """Return the devices on which no further run may begin, each with the Unix time at which it may.

    The time is inf where only a new fact can change that. A run may begin on a device once each run that is bound to it
    leaves it to others: it is paused, or its agent has thought for a while. So runs share a device that would stand
    idle otherwise, and do not begin all at once.
    """
    bound: dict[DeviceRef, list[tuple[Run, int]]] = {}
    for run in state.begun:
        for place in set(run.lanes.values()):
            own = lanes_on(run, place)
            at_work = [lane for lane in own if current_in(run, lane) is not None] or own[:1]
            bound.setdefault(place, []).extend((run, lane) for lane in at_work)
    until = {place: _until(state, runs) for place, runs in bound.items()}
    return {place: time for place, time in until.items() if time > at}


def _until(state: State, lanes: list[tuple[Run, int]]) -> float:
    if len({run.id for run, _ in lanes if isinstance(run.status, Running)}) >= MOST_SHARING:
        return inf
    return max(_leaves_at(run, lane, plan.next_action(run, state.direction(run), lane)) for run, lane in lanes)


def _leaves_at(run: Run, lane: int, action: plan.Action) -> float:
    """Return the Unix time since when, or from when on, the lane of the run leaves its device to others.

    It is inf while the run is about to measure there. A lane that waits has nothing to do until a person acts; one that
    waits for other lanes keeps its device: they will not be long.
    """
    waits = isinstance(action, plan.Wait) and action.what is not None
    current = current_in(run, lane)
    now = current.under_way if current is not None else None
    if run.paused:
        return inf if measures_in(run, lane) else 0.0
    if now is not None:
        return now.since + GRACE_S if now.use == "thinks" else inf
    return (run.iterations[-1].ended or 0.0) + GRACE_S if waits and run.iterations else inf


def fitting_devices(
    run: Run, kind: Literal["cpu", "gpu"], need: Need, hosts: Mapping[str, HostCard]
) -> Iterator[tuple[str, Device]]:
    """Yield the devices that fit a run that has not begun, with their hosts, also of hosts that are down."""
    for name in _names(run, hosts):
        card = hosts.get(name)
        for device in card.devices if card is not None else ():
            if device.kind == kind and _fits(device, need):
                yield name, device


def _names(run: Run, hosts: Mapping[str, HostCard]) -> list[str]:
    """Return the names of the hosts that the run may be on, its own first.

    Before it has begun these are all of the table's, and where that is lent, afterwards, too.
    """
    if run.host in ("", ANY):
        return list(hosts)
    if run.started is None:
        return [name for name in hosts if table_of(name, hosts) == run.host] or [run.host]
    return [run.host, *(card.name for card in beside(run.host, hosts))]


def beside(name: str, hosts: Mapping[str, HostCard]) -> list[HostCard]:
    """Return the other hosts of a host's table, which a scheduler lends."""
    table = table_of(name, hosts)
    others = (card for one, card in hosts.items() if one != name and table_of(one, hosts) == table)
    return [card for card in others if not card.builds]


def table_of(name: str, hosts: Mapping[str, HostCard]) -> str:
    """Return the name of the host's table in config.toml."""
    card = hosts.get(name)
    return card.table if card is not None and card.table else name


def _on(
    name: str,
    card: HostCard | None,
    run: Run,
    kind: Literal["cpu", "gpu"],
    need: Need,
    taken: Collection[DeviceRef],
) -> Device | AtHost:
    if card is None:
        return AtHost(name, "gone")
    if card.builds:
        return AtHost(name, "unfit", "device to measure on: it only builds")
    if card.link == "down":
        lacks = card.devices and not any(device.kind == kind and _fits(device, need) for device in card.devices)
        if card.trouble == "released" and run.started is None and lacks:
            return AtHost(name, "unfit", _wanted(kind, need))
        return AtHost(name, "down", card.error, stuck=card.stuck)
    if run.started is not None:
        return _again(card, run, taken)
    fitting = [device for device in card.devices if device.kind == kind and _fits(device, need)]
    if not fitting:
        return AtHost(name, "unfit", _wanted(kind, need))
    free = [device for device in fitting if (card.name, device.id) not in taken]
    return free[0] if free else AtHost(name, "taken")


def _again(card: HostCard, run: Run, taken: Collection[DeviceRef]) -> Device | AtHost:
    """Return the run's device; where a scheduler lends the host, one like it if that is not there."""
    own, lent = card.name == run.host, is_on_demand(card.transport)
    device = next((device for device in card.devices if own and device.id == run.place[1]), None)
    if lent and (device is None or not run.device_kind.is_like(card.kind_of(device))):
        kind = "cpu" if run.place[1] == "cpu" else "gpu"
        like = [one for one in card.devices if one.kind == kind and run.device_kind.is_like(card.kind_of(one))]
        free = next((device for device in like if (card.name, device.id) not in taken), None)
        if like and free is None and not own:
            return AtHost(card.name, "taken")
        device = free or (like[0] if like else None)
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
