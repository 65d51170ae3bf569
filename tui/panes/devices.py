"""Draws the devices of a host: what they are, who uses them, their status, and who waits for them."""

import re
from collections.abc import Sequence
from itertools import groupby

from rich.cells import cell_len
from textual.content import Content

from kpd.model import clocks
from kpd.model.hosts import Device, DeviceRef, GpuProcess, HostCard, Telemetry
from kpd.model.lanes import current_in, lanes_on
from kpd.model.run import Run
from kpd.model.state import Overhead
from kpd.text.numbers import counted
from kpd.text.waits import wait
from tui.format import marks
from tui.format.gauge import gauge
from tui.format.numbers import ago, figure, seconds
from tui.format.table import Cell, Column, table
from tui.format.text import BLANK, Part, clean, clip, fit, joined, line, wrapped
from tui.model import hosts
from tui.model.view import View
from tui.panes.parts import heading

INDENT = 2
MOST_PROCESSES = 4
GAUGE = 8
LOWERED = clocks.words(clocks.TROUBLE)
"""The other reasons for a low clock are how somebody has set the GPU."""

_COLUMNS = (
    Column("bus", right=False, keep=9, least=7),
    Column("", right=False, keep=9),
    Column("SM MHz", keep=8),
    Column("memory MHz", keep=2),
    Column("power, W", keep=7),
    Column("°C", keep=6),
    Column("used, GiB", keep=5),
    Column("busy", keep=4),
    Column("kpd's", keep=3),
)


def lines(view: View, card: HostCard, width: int) -> list[Content]:
    """Draw all devices below a heading with the age of their figures, and the queue of the host at the end."""
    known = hosts.devices(card)
    if not known:
        return []
    told = {device: hosts.telemetry(view, card, device) for device in known}
    ages = [view_age(view, seen) for seen in told.values() if seen is not None and seen.sm_mhz is not None]
    when: tuple[Part, ...] = ((ago(max(ages)), ".muted"),) if ages else ()
    found = [BLANK, Content.assemble(" " * INDENT, heading("Devices", *when))]
    models = {device: _model(card, device) for device in known}
    for (name, model), same in groupby(known, key=lambda device: (clean(device.name), models[device])):
        alike = list(same)
        block = _one(view, card, alike[0], model, width) if len(alike) == 1 else _many(view, card, alike, model, width)
        found += block if name else []
    of_all = hosts.overheads(view.state, card)
    found += _work(of_all, width, INDENT) if of_all.steps and len(known) > 1 else []
    return [*found, *_queue(view, card, width)]


def _work(own: Overhead, width: int, indent: int) -> list[Content]:
    told = f"kpd's own work: {own.pct:.1f} % of {seconds(own.seconds)} in {counted(own.steps, 'step')}"
    return wrapped(told, width, ".muted", indent=indent)


def view_age(view: View, seen: Telemetry) -> float:
    """Return the age of the figures in seconds."""
    return max(0.0, view.moment - seen.at)


def _one(view: View, card: HostCard, device: Device, model: str, width: int) -> list[Content]:
    """Draw one device: its name and user, its model, and its figures in words."""
    use = _use(view, card, device)
    facts, name = _facts(model, device), clean(device.name)
    room = width - INDENT - use.cell_length - 2
    if cell_len(name) + cell_len(facts) + 3 <= room:
        head = Content.assemble(name, "   ", (facts, ".muted")).truncate(room, pad=True)
        found = [Content.assemble(" " * INDENT, head, "  ", use)]
    else:
        found = [Content.assemble(" " * INDENT, fit(name, room), "  ", use)]
        found += wrapped(facts, width, ".muted", indent=2 * INDENT, most=2)
    seen = hosts.telemetry(view, card, device)
    if (own := hosts.overhead(view.state, card, device)) is not None:
        found += _work(own, width, 2 * INDENT)
    if seen is None:
        return found
    return [*found, *_figures(device, seen, width), *_notes(view, seen, width)]


def _figures(device: Device, seen: Telemetry, width: int) -> list[Content]:
    """List clocks, power, temperature and memory, as many to a line as fit; unknown figures are left out."""
    told = [
        _figure(seen.sm_mhz, "MHz"),
        _figure(seen.memory_mhz, "MHz", "memory "),
        _of(seen.power_w, seen.power_limit_w, "W"),
        _figure(seen.temperature_c, "°C"),
        _of(_gib(seen.memory_used_mib), _gib(device.memory_mib or None), "GiB"),
        None if seen.busy_pct is None else Content(f"{seen.busy_pct:.0f} % busy"),
    ]
    parts = [part for part in told if part is not None]
    rows: list[Content] = []
    for part in parts:
        longer = joined([rows[-1], part], " · ") if rows else part
        if rows and longer.cell_length <= width - 2 * INDENT:
            rows[-1] = longer
        else:
            rows.append(part)
    return [Content.assemble(" " * 2 * INDENT, row) for row in rows]


def _figure(value: float | None, unit: str, what: str = "") -> Content | None:
    return None if value is None else line((what, ".muted"), f"{value:,.0f} {unit}")


def _of(value: float | None, most: float | None, unit: str) -> Content | None:
    """Format a value of its limit: `118 of 700 W ━───────`; without a limit only the value."""
    if value is None:
        return None
    if not most:
        return Content(f"{figure(round(value, 1))} {unit}")
    text = f"{_short(value)} of {_short(most)} {unit} "
    return Content.assemble(text, gauge(value / most, GAUGE))


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def _gib(mib: float | None) -> float | None:
    return None if mib is None else mib / 1024


def _many(view: View, card: HostCard, alike: Sequence[Device], model: str, width: int) -> list[Content]:
    """Draw devices of one model as a table of their figures; while there are none, only who uses which."""
    found = wrapped(f"{len(alike)} × {clean(alike[0].name)}", width, indent=INDENT, most=2)
    found += wrapped(model, width, ".muted", indent=2 * INDENT, most=2) if model else []
    told = {device: hosts.telemetry(view, card, device) for device in alike}
    if all(seen is None or seen.sm_mhz is None for seen in told.values()):
        uses = [Content.assemble((_pci(one), ".muted"), " ", _use(view, card, one)) for one in alike]
        found += _flowing(uses, width)
    else:
        rows = [[*_row(device, told[device], _use(view, card, device)), _own(view, card, device)] for device in alike]
        space = " " * 2 * INDENT
        found += [Content.assemble(space, row) for row in table(_COLUMNS, rows, width - 2 * INDENT)]
    for device, seen in told.items():
        if seen is not None:
            found += _notes(view, seen, width, f"{_pci(device)} ")
    return found


def _row(device: Device, seen: Telemetry | None, use: Content) -> list[Cell]:
    if seen is None:
        return [_pci(device), use, *("–",) * (len(_COLUMNS) - 3)]
    power = _share(seen.power_w, seen.power_limit_w)
    used = _share(_gib(seen.memory_used_mib), _gib(device.memory_mib or None))
    busy = "–" if seen.busy_pct is None else f"{seen.busy_pct:.0f} %"
    clocks = (_whole(seen.sm_mhz), _whole(seen.memory_mhz))
    return [_pci(device), use, *clocks, power, _whole(seen.temperature_c), used, busy]


def _own(view: View, card: HostCard, device: Device) -> str:
    """Format which share of the time of its steps was kpd's own work."""
    own = hosts.overhead(view.state, card, device)
    return "–" if own is None else f"{own.pct:.1f} %"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _share(value: float | None, most: float | None) -> str:
    """Format a value and its limit: `413/700`."""
    return "–" if value is None else f"{_short(value)}/{_short(most)}" if most else _short(value)


def _notes(view: View, seen: Telemetry, width: int, which: str = "") -> list[Content]:
    """Return notes on the lease, other processes and anything unusual; `which` names one of several GPUs."""
    found: list[tuple[str, str]] = []
    if seen.trouble:
        found.append((f"! no figures: {seen.trouble}", ".warn"))
    if seen.holder:
        held = f" for {seconds(view_age(view, seen) + seen.at - seen.since)}" if seen.since else ""
        found.append((f"lease: {seen.holder}{held}", ".muted"))
    if seen.unlocked:
        found.append((f"! unknown who has the lease: {seen.unlocked}", ".warn"))
    if lowered := [reason for reason in seen.slowed if reason in LOWERED]:
        found.append((f"! the clock is lowered: {', '.join(lowered)}", ".warn"))
    elif seen.slowed:
        found.append((f"clock held by: {', '.join(seen.slowed)}", ".muted"))
    ranked = sorted(seen.computes, key=lambda one: one.whose != "foreign")
    found += [_process(one) for one in ranked[:MOST_PROCESSES]]
    if len(ranked) > MOST_PROCESSES:
        found.append((f"and {counted(len(ranked) - MOST_PROCESSES, 'more process')}", ".muted"))
    indent = 2 * INDENT
    return [row for text, style in found for row in wrapped(which + clean(text), width, style, indent=indent, most=2)]


def _process(one: GpuProcess) -> tuple[str, str]:
    memory = "" if one.memory_mib is None else f", {one.memory_mib:,} MiB"
    text = f"{one.name} ({one.pid}){memory}"
    match one.whose:
        case "foreign":
            return f"{marks.FAILED.glyph} {text}: not kpd's; measurements wait", ".bad"
        case "unseen":
            return f"? {text}: of another container, or gone", ".muted"
        case "tolerated":
            return f"· {text}: tolerated", ".muted"
        case "kpd":
            return f"· {text}: kpd's own", ".muted"


def _queue(view: View, card: HostCard, width: int) -> list[Content]:
    """Draw the runs that wait for this host or for any, in the order of the queue, with the reasons."""
    waiting = hosts.queue(view.state, card)
    if not waiting:
        return []
    found = [BLANK, Content.assemble(" " * INDENT, heading("Queue"))]
    for run in waiting[:MOST_PROCESSES]:
        where = "" if run.host == card.name else ", any host"
        why = f": {clean(wait(run.waiting))}" if run.waiting else ""
        text = clip(f"{clean(run.task)}{where}{why}", width - 2 * INDENT - cell_len(run.id) - 1)
        found.append(line(" " * 2 * INDENT, (run.id, ".strong"), " ", (text, ".muted")))
    if len(waiting) > MOST_PROCESSES:
        found.append(line(" " * 2 * INDENT, (f"and {len(waiting) - MOST_PROCESSES} more", ".muted")))
    return found


def _flowing(cells: Sequence[Content], width: int) -> list[Content]:
    """Lay out cells of one width, as many in a line as fit."""
    room = width - 2 * INDENT
    widest = min(room, max(cell.cell_length for cell in cells))
    columns = max(1, (room + 2) // (widest + 2))
    even = [cell.truncate(widest, pad=True) for cell in cells]
    rows = [even[first : first + columns] for first in range(0, len(even), columns)]
    return [Content.assemble(" " * 2 * INDENT, joined(row, "  ")) for row in rows]


def _model(card: HostCard, device: Device) -> str:
    """Describe what all devices of a model share: `sm_90 · 80 GiB`."""
    pinned = f"CPU {card.cpu}" if device.kind == "cpu" and card.cpu is not None else ""
    memory = f"{device.memory_mib / 1024:,.0f} GiB" if device.memory_mib else ""
    return " · ".join(part for part in (clean(device.arch), memory, pinned) if part)


def _facts(model: str, device: Device) -> str:
    """Describe a device: `sm_90 · 80 GiB · 17:00.0`."""
    return " · ".join(part for part in (model, _pci(device)) if part)


def _pci(device: Device) -> str:
    """Return the PCI bus id, without its domain where that is zero."""
    return re.sub("^0+:(?=.*:)", "", clean(device.pci))


def _use(view: View, card: HostCard, device: Device) -> Content:
    """Draw who uses the device: runs of kpd, another lease, a foreign process, nobody. Blank if the host is down."""
    if runs := hosts.holders(view.state, card, device):
        return held(view, runs, (card.name, device.id))
    if card.link != "up":
        return BLANK
    seen = hosts.telemetry(view, card, device)
    if seen is not None and seen.holder:
        return line((f"{marks.TAKEN.glyph} {marks.TAKEN.word}", marks.TAKEN.style))
    if seen is not None and any(one.whose == "foreign" for one in seen.computes):
        return line((f"{marks.FOREIGN.glyph} {marks.FOREIGN.word}", marks.FOREIGN.style))
    return line((f"{marks.FREE.glyph} {marks.FREE.word}", marks.FREE.style))


def held(view: View, runs: Sequence[Run], place: DeviceRef) -> Content:
    """Return the first of the runs on a device, with its mark and its iteration there, and the number of the others."""
    run = runs[0]
    now = current_in(run, lanes_on(run, place)[0])
    of = (bool(view.state.held), view.out_of_touch)
    mark = marks.of_run(run, *of) if now is None else marks.of_iteration(now, run, *of)
    at = f"{run.id}.{now.number}" if now is not None else run.id
    more = f" +{len(runs) - 1}" if len(runs) > 1 else ""
    return line((f"{mark.glyph} {at}{more}", mark.style))
