"""Chooses the devices of a run beside its first one: pure functions of the run, the known hosts, and what others have.

They are of the first one's host; where a scheduler lends that, of all hosts of its table: each allocation has some.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
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
    if run.devices == 1:
        return {}
    like = [
        Placement(card.name, device)
        for card in (hosts[first.host], *beside(first.host, hosts))
        for device in card.devices
        if card.link == "up" and _is_like(device, first.device) and run.device_kind.is_like(card.kind_of(device))
    ]  # fmt: skip
    has, had = Counter(here.values()), set(run.more)
    free = [one for one in like if not has[one.ref] and (one.ref in had or one.ref not in taken)]
    free.sort(key=lambda one: one.ref not in had)
    room = max(run.devices - len(has), 0) if run.devices else len(free)
    used = [*(one for one in like if has[one.ref]), *free[:room]]
    lacking = [one for nth in range(_lanes_of(first.device)) for one in used if has[one.ref] <= nth]
    return dict(zip(_numbers_beside(here), _in_former_order(run, here, lacking), strict=False))


def _lanes_of(device: Device) -> int:
    """Return how many lanes a device has: one prepares a candidate for a GPU while the other one measures there.

    On a CPU a build would disturb what is measured.
    """
    return 2 if device.kind == "gpu" else 1


def _numbers_beside(here: Collection[int]) -> Iterator[int]:
    """Yield the numbers of lanes that are not `here`."""
    return (number for number in count() if number not in here)


def _in_former_order(run: Run, here: Collection[int], lanes: Iterable[Placement]) -> list[Placement]:
    """Sort lanes by the numbers that their devices had: what is under way there goes on."""
    numbers: dict[DeviceRef, list[int]] = {}
    for number, place in enumerate(run.places):
        if number not in here:
            numbers.setdefault(place, []).append(number)
    former = [(numbers[one.ref].pop(0) if numbers.get(one.ref) else inf, one) for one in lanes]
    return [one for _, one in sorted(former, key=lambda pair: pair[0])]


def further_hosts(
    run: Run, first: Device, hosts: Mapping[str, HostCard], others: Collection[str], direction: Direction
) -> set[str]:
    """Return the hosts of its table, which are down, that a run under way asks for: their devices would be its lanes.

    None of `others`, which further runs have or want. A run that has nothing for a further lane to do asks for none,
    but does while the baseline is measured. None asks for a host whose last allocation had no device like the first.
    """
    at_baseline = run.incumbent is None and run.own_files == "right"
    if not at_baseline and not plan.has_more(run, direction):
        return set()
    cards = [card for card in (hosts.get(run.host), *beside(run.host, hosts)) if card is not None]
    down = [
        card for card in cards
        if card.link == "down" and card.name not in others and not (card.trouble == "released" and _lacks(card, first))
    ]  # fmt: skip
    down.sort(key=lambda card: card.trouble != "pending")
    each = max((sum(_is_like(device, first) for device in card.devices) for card in cards), default=1)
    lacks = most_at_once(run) - len(set(run.lanes.values()))
    return {card.name for card in down[: ceil(max(lacks, 0) / max(each, 1))]}


def most_at_once(run: Run) -> int:
    """Return how many devices the run has work for: no more than its budget has iterations left.

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
