"""One host in full: what is the matter with it, its devices and who has them, and what works there."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.cells import cell_len
from textual.content import Content

from kpd.model.nouns import Run
from kpd.model.places import Check, Device, HostCard
from tui import hosts, marks
from tui.keys import written
from tui.numbers import figure
from tui.text import BLANK, clean, clip, fit, joined, line, wrapped
from tui.view import View

INDENT = 2
MOST_LABEL = 14


def lines(view: View, card: HostCard, width: int) -> list[Content]:
    """All that is known of the host, below its headline."""
    measured = [_peaks(card), *(f"{clean(one.name)} {peaks}" for one in card.devices if (peaks := _peaks(one)))]
    told = "; ".join(filter(None, measured))
    facts = [card.system, f"measured: {told}" if told else ""]
    found = [row for text in facts if text for row in wrapped(text, width, ".muted", indent=INDENT, most=2)]
    found += _trouble(view, card, width)
    known = hosts.devices(card)
    if known:
        found += [BLANK, line(" " * INDENT, ("Devices", ".heading")), *_devices(view, card, known, width)]
    return [*found, *_preflight(view, card, width)]


def _peaks(of: HostCard | Device) -> str:
    """What a device can do at best, as far as it was measured."""
    known = ((of.bandwidth_gbs, "GB/s"), (of.peak_gflops, "GFLOP/s"))
    return ", ".join(f"{figure(value)} {unit}" for value, unit in known if value is not None)


def _trouble(view: View, card: HostCard, width: int) -> list[Content]:
    if card.offered:
        return _offered(view, card, width)
    reason, remedy = hosts.trouble(card)
    if card.link == "down":
        key = _key(view, "retry_link", "R")
        again = f"then {key} tries again" if hosts.needs_person(card) else f"{key} tries at once"
        found = _marked(marks.FAILED, reason or "not connected yet", width)
        return [*found, *_remedy(remedy or "kpd goes on trying", width), *_remedy(again, width)]
    if reason and not card.checks:
        return _marked(marks.FAILED, reason, width)
    return []


def _offered(view: View, card: HostCard, width: int) -> list[Content]:
    """The fingerprint on a line of its own, so that it can be compared at a glance."""
    found = _marked(marks.OFFERED, "shows a key that nobody has trusted yet:", width)
    print_of = clean(card.offered)
    if cell_len(print_of) > width - 2 * INDENT:
        hash_name, _, digest = print_of.partition(":")
        rows = [f"{hash_name}:", digest] if digest else [print_of]
    else:
        rows = [print_of]
    found += [row for text in rows for row in wrapped(text, width, ".strong", indent=2 * INDENT, most=3)]
    trust = f"compare it with the host's own, then {_key(view, 'trust', 'T')} trusts it"
    return found + _remedy(trust, width)


def _devices(view: View, card: HostCard, known: Sequence[Device], width: int) -> list[Content]:
    """One line each where all columns fit; else a model's name and facts once, and under it who has which of them."""
    models = {device: _model(card, device) for device in known}
    uses = {device: _use(view, card, device) for device in known}
    names = max(cell_len(clean(device.name)) for device in known)
    facts = max(cell_len(_facts(models[device], device)) for device in known)
    if INDENT + names + facts + max(use.cell_length for use in uses.values()) + 6 <= width:
        return [
            Content.assemble(
                " " * INDENT, fit(clean(device.name), names), "   ",
                (fit(_facts(models[device], device), facts), ".muted"), "   ", uses[device],
            )
            for device in known
        ]  # fmt: skip
    found = []
    for (name, model), same in groupby(known, key=lambda device: (clean(device.name), models[device])):
        alike = list(same)
        if len(alike) == 1:
            room = width - INDENT - uses[alike[0]].cell_length - 2
            found.append(Content.assemble(" " * INDENT, fit(name, room), "  ", uses[alike[0]]))
            found += wrapped(_facts(model, alike[0]), width, ".muted", indent=2 * INDENT, most=2)
            continue
        found += wrapped(f"{len(alike)} × {name}", width, indent=INDENT, most=2)
        found += wrapped(model, width, ".muted", indent=2 * INDENT, most=2) if model else []
        found += _flowing([Content.assemble((_pci(one), ".muted"), " ", uses[one]) for one in alike], width)
    return found


def _flowing(cells: Sequence[Content], width: int) -> list[Content]:
    """Cells of one width, as many in a line as fit."""
    room = width - 2 * INDENT
    widest = min(room, max(cell.cell_length for cell in cells))
    columns = max(1, (room + 2) // (widest + 2))
    even = [cell.truncate(widest, pad=True) for cell in cells]
    rows = [even[first : first + columns] for first in range(0, len(even), columns)]
    return [Content.assemble(" " * 2 * INDENT, joined(row, "  ")) for row in rows]


def _model(card: HostCard, device: Device) -> str:
    """What is the same for all devices of a kind: `sm_90 · 80 GiB`."""
    pinned = f"CPU {card.cpu}" if device.kind == "cpu" and card.cpu is not None else ""
    memory = f"{device.memory_mib / 1024:,.0f} GiB" if device.memory_mib else ""
    return " · ".join(part for part in (clean(device.arch), memory, pinned) if part)


def _facts(model: str, device: Device) -> str:
    """`sm_90 · 80 GiB · 17:00.0`."""
    return " · ".join(part for part in (model, _pci(device)) if part)


def _pci(device: Device) -> str:
    """The bus id, without its domain where that is the usual one."""
    return re.sub("^0+:(?=.*:)", "", clean(device.pci))


def _use(view: View, card: HostCard, device: Device) -> Content:
    """Which run has the device; nobody knows while the host is down."""
    run = hosts.holder(view.state, card, device)
    if run is not None:
        return held(view, run)
    return line((f"{marks.FREE.glyph} {marks.FREE.word}", marks.FREE.style)) if card.link == "up" else BLANK


def held(view: View, run: Run) -> Content:
    """The run that has a device, with its sign."""
    mark = marks.of_run(run, bool(view.state.held))
    now = run.current
    at = f"{run.id}.{now.number}" if now is not None else run.id
    return line((f"{mark.glyph} {at}", mark.style))


def _preflight(view: View, card: HostCard, width: int) -> list[Content]:
    """The checks; cards of older logs have none, but say what compiler and counters there are."""
    shown = [check for check in card.checks if card.link == "up" or check.name != "link"]
    if shown:
        states = Counter(marks.of_check(check) for check in shown)
        sums = [(f"  {number} {mark.glyph}", mark.style) for mark, number in states.items()]
        label = min(MOST_LABEL, max(cell_len(clean(check.name)) for check in shown))
        found = [BLANK, line(" " * INDENT, ("Checks", ".heading"), *sums)]
        return found + [row for check in shown for row in _check(check, label, width)]
    if card.link == "down":
        return []
    facts = [(name, text) for name, text in (("compiler", card.compiler), ("counters", card.counters)) if text]
    found = [BLANK] if facts else []
    for name, text in facts:
        found.append(line(" " * INDENT, (f"{name}  ", ".muted"), clip(clean(text), width - INDENT - 10)))
    return [
        *found,
        BLANK,
        *wrapped(f"{_key(view, 'check_hosts', 'c')} checks what works here.", width, ".muted", INDENT),
    ]


def _check(check: Check, label: int, width: int) -> list[Content]:
    """What was found, and the remedy beside it if both fit into the line, else below."""
    mark = marks.of_check(check)
    style = {"ok": "", "bad": mark.style, "off": ".muted"}[check.state]
    head = line(" " * INDENT, (f"{mark.glyph} ", mark.style), (fit(clean(check.name), label), ".muted"), "  ")
    room = width - head.cell_length
    found = clean(check.found)
    if check.state != "bad":
        return [Content.assemble(head, (clip(found, room), style))]
    remedy = clean(check.remedy)
    if remedy and cell_len(found) + cell_len(remedy) + 4 <= room:
        return [Content.assemble(head, (found, style), f"  → {remedy}")]
    rows = wrapped(found, room, style, most=3)
    below = " " * head.cell_length
    said = [Content.assemble(head if nth == 0 else below, row) for nth, row in enumerate(rows)]
    return said + _remedy(remedy, width, 2 * INDENT)


def _marked(mark: marks.Mark, text: str, width: int) -> list[Content]:
    rows = wrapped(text, width - 2 * INDENT, mark.style, most=4)
    return [
        Content.assemble(" " * INDENT, (f"{mark.glyph} " if nth == 0 else "  ", mark.style), row)
        for nth, row in enumerate(rows)
    ]


def _remedy(text: str, width: int, indent: int = INDENT) -> list[Content]:
    rows = wrapped(text, width - indent - 2, most=4) if text else []
    return [
        Content.assemble(" " * indent, ("→ " if nth == 0 else "  ", ".accent"), row) for nth, row in enumerate(rows)
    ]


def _key(view: View, action: str, usual: str) -> str:
    return written(view.keys.get(action, usual))
