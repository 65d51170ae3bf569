"""Draws the Hosts tab: each host with its link, devices and checks; folded where there are many."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from kpd.model.hosts import HostCard
from kpd.text.numbers import counted
from kpd.workspace.host_tables import LOCAL
from tui.format import marks
from tui.format.numbers import figure
from tui.format.text import BLANK, clean, clip, joined, line
from tui.model import hosts
from tui.model.view import View
from tui.panes import devices, host
from tui.panes.devices import INDENT
from tui.panes.iterations import on_hosts
from tui.panes.parts import heading, nothing_heard, sentence

FOLDED = 2
"""Lines of a host that is folded."""
LEAST_REMEDY = 16
"""Cells that a remedy needs at least to be shown."""


@dataclass(frozen=True, slots=True)
class Page:
    """All lines, and the range of lines of each host, which begins with its headline."""

    lines: list[Content]
    spans: dict[str, range]


def lines(view: View, width: int, height: int) -> list[Content]:
    return page(view, width, height).lines


def page(view: View, width: int, height: int) -> Page:
    """Draw every host in full if all fit into `height`; else only the chosen one, and the others in two lines each.

    What is left of the height says what was measured there lately.
    """
    if (nothing := nothing_heard(view, width)) is not None:
        return Page(nothing, {})
    cards = hosts.ordered(view.state)
    if not cards:
        return Page(sentence("No host was looked at yet: the daemon does it when it starts.", width), {})
    found = [] if len(cards) == 1 else [_heading(view, cards, width), BLANK]
    blocks = {card.name: host.lines(view, card, width) for card in cards}
    fold = len(cards) > 1 and len(found) + sum(len(block) + 1 for block in blocks.values()) > height + 1
    spans: dict[str, range] = {}
    for card in cards:
        folded = fold and card.name != view.host
        sign = "▸ " if folded else "▾ " if fold else ""
        body = _folded(view, card, width) if folded else blocks[card.name]
        if not folded and found and found[-1] is not BLANK:
            found.append(BLANK)
        first = len(found)
        found += [_headline(view, card, width, sign), *body]
        spans[card.name] = range(first, len(found))
        if not folded and card is not cards[-1]:
            found.append(BLANK)
    measured = on_hosts(view, width - INDENT, height - len(found) - 1)
    return Page([*found, BLANK, *(Content(" " * INDENT) + row for row in measured)] if measured else found, spans)


def _heading(view: View, cards: Sequence[HostCard], width: int) -> Content:
    """Draw how many hosts there are, how many are up and down, and how many devices are in use."""
    marked = Counter(marks.of_host(card) for card in cards)
    states = [line((f"{mark.glyph} {number} {mark.word}", mark.style)) for mark, number in marked.items()]
    found = joined([heading(counted(len(cards), "host")), *states], "  ")
    known = [(card, device) for card in cards for device in hosts.devices(card)]
    taken = sum(bool(hosts.holders(view.state, card, device)) for card, device in known)
    told = (f"  {taken} of {counted(len(known), 'device')} taken", f"  {taken} of {len(known):,} taken")
    fits = next((text for text in told if found.cell_length + len(text) <= width), "")
    return Content.assemble(found, (fits, ".muted"))


def _headline(view: View, card: HostCard, width: int, sign: str) -> Content:
    """Draw the name, the link, the time of a round trip, and the address."""
    mark = marks.of_host(card)
    known = hosts.round_trip(view, card)
    rtt = f" {_milliseconds(known)}" if known is not None else ""
    where = "this machine" if card.transport == LOCAL else f"{clean(card.transport)} {clean(card.address)}"
    return line(
        (sign, ".muted"), (f"{mark.glyph} ", mark.style), (clip(clean(card.name), 32), ".strong"),
        (f"  {mark.word}", mark.style), (rtt, ".muted"), (f"  {where}", ".muted"),
    ).truncate(width, ellipsis=True)  # fmt: skip


def _milliseconds(value: float) -> str:
    return f"{value:.1f} ms" if 0.05 <= value < 100 else f"{figure(round(value, 2))} ms"


def _folded(view: View, card: HostCard, width: int) -> list[Content]:
    """Draw what matters most about the host: its problem, else who works there, which checks fail, and its devices."""
    room = width - 2 * INDENT
    space = " " * (2 * INDENT)
    if card.offered:
        text = f"{marks.OFFERED.glyph} shows a key that nobody has trusted yet"
        return [line(space, (clip(text, room), marks.OFFERED.style))]
    reason, remedy = hosts.trouble(card)
    if reason and (card.link == "down" or not card.checks):
        mark = marks.of_trouble(card)
        said = clip(f"{mark.glyph} {reason}", room)
        left = room - cell_len(said) - 4
        return [
            line(
                space,
                (said, mark.style),
                f"  → {clip(remedy, left)}" if remedy and left >= LEAST_REMEDY else "",
            )
        ]
    tail: list[Content] = []
    for device in hosts.devices(card):
        if runs := hosts.holders(view.state, card, device):
            tail.append(devices.held(view, runs, (card.name, device.id)))
    bad = ", ".join(clean(check.name) for check in card.checks if check.state == "bad")
    tail += [line((f"{marks.FAILED.glyph} {bad}", marks.FAILED.style))] if bad else []
    own = hosts.overheads(view.state, card)
    tail += [line((f"kpd's {own.pct:.0f} %", ".muted"))] if own.steps else []
    after = joined(tail, "  ").truncate(max(0, room - LEAST_REMEDY), ellipsis=True)
    return [Content.assemble(space, (clip(_equipment(card), room - after.cell_length - 2), ".muted"), "  ", after)]


def _equipment(card: HostCard) -> str:
    """Format the devices of a host: `8 × H100 80GB HBM3`, or the CPU's name where there is no GPU."""
    known = hosts.devices(card)
    shown = [device for device in known if device.kind == "gpu"] or known
    kinds = Counter(clean(device.name).removeprefix("NVIDIA ") for device in shown)
    return ", ".join(f"{number} × {name}" if number > 1 else name for name, number in kinds.items())
