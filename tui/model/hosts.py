"""Prepares hosts for display: order, selection, problems, and who uses a device."""

import re
from collections.abc import Sequence

from kpd.model.hosts import Device, HostCard, HostStatus, Telemetry
from kpd.model.lanes import lanes_on, measures_in
from kpd.model.run import Run
from kpd.model.state import Overhead, State
from kpd.text.numbers import counted
from kpd.workspace.host_tables import ANY
from tui.format import marks
from tui.format.text import clean
from tui.model.view import View

CPU = "cpu"


def ordered(state: State) -> list[HostCard]:
    """Return the hosts by name, gpu2 before gpu10; a host that goes down keeps its place."""
    return sorted(state.hosts.values(), key=lambda card: (_natural(card.name), card.name))


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key in which numbers are compared by their value and come before letters."""
    pieces = re.findall(r"([0-9]{1,18})|([^0-9]+|[0-9])", name)
    return [(0, int(number), "") if number else (1, 0, letters) for number, letters in pieces]


def needs_person(card: HostCard) -> bool:
    """Return whether the link stays down until a person does something."""
    return card.link == "down" and card.stuck


def chosen(state: State, before: str, looking: bool) -> str:
    """Return the host that actions apply to; the operator's choice stays while they are `looking` at the hosts.

    Else it is a host that waits for a person, or at least one that is down, if there is one.
    """
    card = state.hosts.get(before)
    if card is not None and (looking or needs_person(card)):
        return before
    cards = ordered(state)
    for matters in (needs_person, lambda one: one.standing == "down"):
        if (found := next(filter(matters, cards), None)) is not None and (card is None or not matters(card)):
            return found.name
    return before if card is not None else cards[0].name if cards else ""


def devices(card: HostCard) -> tuple[Device, ...]:
    """Return the host's devices; host cards of older logs name only one."""
    if card.devices or not card.device:
        return card.devices
    return (Device(CPU, "cpu", card.device),)


def holders(state: State, card: HostCard, device: Device) -> list[Run]:
    """Return the runs that are bound to the device; the one that measures there now comes first."""
    place = (card.name, device.id)
    bound = (run for run in state.begun if place in run.lanes.values())
    return sorted(bound, key=lambda run: not measures_in(run, lanes_on(run, place)[0]))


def look(view: View, card: HostCard) -> HostStatus | None:
    """Return the status of the host that was last polled, if it was."""
    return view.looks.get(card.name)


def telemetry(view: View, card: HostCard, device: Device) -> Telemetry | None:
    """Return the newest telemetry of the device: polled, or from when its host was checked."""
    seen = look(view, card)
    live = None if seen is None else seen.devices.get(device.id)
    if live is None or device.telemetry is None:
        return live or device.telemetry
    return max(live, device.telemetry, key=lambda one: one.at)


def overhead(state: State, card: HostCard, device: Device) -> Overhead | None:
    """Return how much of the time of steps on a device was kpd's own work; None where none has ended there."""
    return state.overheads.get(card.name, {}).get(device.id)


def overheads(state: State, card: HostCard) -> Overhead:
    """Return the sum of that over all devices of a host, also those that it had in former allocations."""
    each = state.overheads.get(card.name, {}).values()
    return Overhead(sum(one.steps for one in each), sum(one.seconds for one in each), sum(one.own_s for one in each))


def round_trip(view: View, card: HostCard) -> float | None:
    """Return the time of a round trip to the host's helper, in milliseconds; None while there is no link."""
    seen = look(view, card)
    if card.link != "up":
        return None
    return seen.rtt_ms if seen is not None and seen.rtt_ms is not None else card.rtt_ms


def queue(state: State, card: HostCard) -> list[Run]:
    """Return the runs that wait for this host, or for any, in the order of the queue."""
    return [run for run in state.queue if run.host in (card.name, "", ANY)]


def trouble(card: HostCard) -> tuple[str, str]:
    """Return what is wrong with the host as a whole, and the remedy; two empty texts when nothing is."""
    link = next((check for check in card.checks if check.name == "link" and check.state != "ok"), None)
    if link is not None:
        return clean(link.found), clean(link.remedy)
    return clean(card.error), ""


def brief(cards: Sequence[HostCard]) -> str:
    """Format the state of the hosts in a line: `gpu1 is up`, or `16 hosts: 15 up, 1 down: gpu7`."""
    if len(cards) == 1:
        name, word = clean(cards[0].name), marks.of_host(cards[0]).word
        why = "" if cards[0].link == "up" else f": {trouble(cards[0])[0] or 'not connected yet'}"
        return f"{name} is {word}{why}"
    others: dict[str, list[str]] = {}
    for card in cards:
        if card.link != "up":
            others.setdefault(marks.of_host(card).word, []).append(clean(card.name))
    up = len(cards) - sum(map(len, others.values()))
    rest = (f", {len(names)} {word}: {', '.join(names)}" for word, names in others.items())
    return f"{counted(len(cards), 'host')}: {up} up{''.join(rest)}"
