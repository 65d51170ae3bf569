"""Chooses the devices of a run beside its first one: pure functions of the run, the known hosts, and what others have.

They are of the first one's host; where a scheduler lends that, of all hosts of its table: each allocation has some.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import count, islice
from math import ceil, inf

from kpd.engine import plan
from kpd.engine.placement import Placement, beside
from kpd.model.hosts import Device, DeviceRef, HostCard
from kpd.model.run import Run
from kpd.model.scores import Direction


def further_lanes(
    run: Run,
    first: Placement,
    here: Mapping[int, DeviceRef],
    hosts: Mapping[str, HostCard],
    taken: Collection[DeviceRef] = (),
) -> dict[int, Placement]:
    """Return the lanes that can be begun beside those that are `here`, with their devices, which are like the first.

    The devices that the run had before come first. No device in `taken` is chosen, unless the run had it.
    """
    cards = [hosts[first.host], *beside(first.host, hosts)]
    had = {place: number for number, place in enumerate(run.more)}
    free = [
        Placement(card.name, device)
        for card in cards
        for device in card.devices
        if card.link == "up" and _is_like(device, first.device) and run.device_kind.is_like(card.kind_of(device))
        and (place := (card.name, device.id)) not in here.values() and (place in had or place not in taken)
    ]  # fmt: skip
    free.sort(key=lambda one: had.get((one.host, one.device.id), inf))
    room = run.devices - len(here) if run.devices else len(free)
    numbers = (number for number in count() if number not in here)
    return dict(zip(numbers, islice(free, max(room, 0)), strict=False))


def further_hosts(
    run: Run, first: Device, hosts: Mapping[str, HostCard], others: Collection[str], direction: Direction
) -> set[str]:
    """Return the hosts of its table, which are down, that a run under way asks for: their devices would be its lanes.

    None of `others`, which further runs have or want. A run that has nothing for a further lane to do asks for none,
    but does while the baseline is measured. None asks for a host whose last allocation had no device like the first.
    """
    at_baseline = run.incumbent is None and run.own_files == "right"
    if not at_baseline and not isinstance(plan.next_action(run, direction, len(run.places)), plan.Iterate):
        return set()
    cards = [card for card in (hosts.get(run.host), *beside(run.host, hosts)) if card is not None]
    down = [
        card for card in cards
        if card.link == "down" and card.name not in others and not (card.trouble == "released" and _lacks(card, first))
    ]  # fmt: skip
    down.sort(key=lambda card: card.trouble != "pending")
    each = max((sum(_is_like(device, first) for device in card.devices) for card in cards), default=1)
    lacks = most_at_once(run) - len(run.lanes)
    return {card.name for card in down[: ceil(max(lacks, 0) / max(each, 1))]}


def most_at_once(run: Run) -> int:
    """Return how many lanes the run has work for: no more than its budget has iterations left.

    Before a right candidate is found it is one: nobody knows how long that takes.
    """
    if run.incumbent is None and run.own_files != "right":
        return 1
    left = max(run.budget.iterations - len(run.counted), 1)
    return min(run.devices or left, left)


def most_allocations(run: Run, fitting: Iterable[tuple[str, Device]], gpus: int) -> int:
    """Return how many allocations a run that has no device has work for at once.

    Each has as many devices as the one with the most of those that are `fitting`, by host, as far as any was seen;
    before that as many as it has `gpus`, if the run needs these.
    """
    seen = Counter(host for host, _ in fitting)
    return ceil(most_at_once(run) / max((*seen.values(), 1) if seen else (gpus, 1)))


def _lacks(card: HostCard, first: Device) -> bool:
    return bool(card.devices) and not any(_is_like(device, first) for device in card.devices)


def _is_like(device: Device, first: Device) -> bool:
    return (device.kind, device.name, device.arch) == (first.kind, first.name, first.arch)
