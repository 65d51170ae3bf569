"""Draws one host in full: problems, devices and their users, checks."""

from collections import Counter

from rich.cells import cell_len
from textual.content import Content

from kpd.model.hosts import Check, Device, HostCard
from tui.actions.table import key
from tui.format import marks
from tui.format.numbers import figure
from tui.format.text import BLANK, beside, clean, clip, fit, line, wrapped
from tui.model import hosts
from tui.model.view import View
from tui.panes import devices
from tui.panes.devices import INDENT

MOST_LABEL = 14
WIDE, GAP = 150, 4
"""From this many cells on there are two columns, and what lies between them."""


def lines(view: View, card: HostCard, width: int) -> list[Content]:
    """Draw all that is known of the host, below its headline; the checks stand beside the devices if there is room."""
    measured = [_peaks(card), *(f"{clean(one.name)} {peaks}" for one in card.devices if (peaks := _peaks(one)))]
    told = "; ".join(filter(None, measured))
    facts = [card.system, f"measured: {told}" if told else ""]
    found = [row for text in facts if text for row in wrapped(text, width, ".muted", indent=INDENT, most=2)]
    found += _trouble(view, card, width)
    if width < WIDE:
        return [*found, *devices.lines(view, card, width), *_preflight(view, card, width)]
    half = (width - GAP) // 2
    left, right = devices.lines(view, card, half), _preflight(view, card, width - half - GAP)
    return [*found, *beside(left, right, half, GAP)]


def _peaks(of: HostCard | Device) -> str:
    """Return the measured peaks of a device: bandwidth and arithmetic."""
    known = ((of.bandwidth_gbs, "GB/s"), (of.peak_gflops, "GFLOP/s"))
    return ", ".join(f"{figure(value)} {unit}" for value, unit in known if value is not None)


def _trouble(view: View, card: HostCard, width: int) -> list[Content]:
    if card.offered:
        return _offered(view, card, width)
    reason, remedy = hosts.trouble(card)
    if card.link == "down":
        retry = key(view, "retry_link")
        again = f"then {retry} tries again" if hosts.needs_person(card) else f"{retry} tries at once"
        found = _marked(marks.of_trouble(card), reason or "not connected yet", width)
        found += _remedy(remedy or "kpd keeps trying", width)
        return found if card.standing == "released" else [*found, *_remedy(again, width)]
    if reason and not card.checks:
        return _marked(marks.FAILED, reason, width)
    return []


def _offered(view: View, card: HostCard, width: int) -> list[Content]:
    """Draw the offered fingerprint on a line of its own, so that it is easy to compare."""
    found = _marked(marks.OFFERED, "shows a key that nobody has trusted yet:", width)
    print_of = clean(card.offered)
    if cell_len(print_of) > width - 2 * INDENT:
        hash_name, _, digest = print_of.partition(":")
        rows = [f"{hash_name}:", digest] if digest else [print_of]
    else:
        rows = [print_of]
    found += [row for text in rows for row in wrapped(text, width, ".strong", indent=2 * INDENT, most=3)]
    trust = f"compare it with the host's own, then {key(view, 'trust')} trusts it"
    return found + _remedy(trust, width)


def _preflight(view: View, card: HostCard, width: int) -> list[Content]:
    """Draw the checks; host cards of older logs have none, but name the compiler and the counters."""
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
        *wrapped(f"{key(view, 'check_hosts')} checks what works here.", width, ".muted", INDENT),
    ]


def _check(check: Check, label: int, width: int) -> list[Content]:
    """Draw the result of a check; the remedy stands beside it if both fit into the line, else below."""
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
