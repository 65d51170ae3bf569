"""Draws the table of metrics: a row each, candidate beside incumbent, and a column per case if there is room."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from textual.content import Content

from kpd.model.metrics import METRICS, PER_CASE, Group, Metric, describe, grouped, of_case, parted
from kpd.model.profiles import Change, MetricChange
from tui.format.gauge import gauge
from tui.format.numbers import compact, delta, moved
from tui.format.short_names import long, short
from tui.format.table import Cell, Column, table
from tui.format.text import clean, squeezed
from tui.panes.sides import Sides, stalls

SAME_PCT = 0.05
"""A smaller change is noise of the last digit and gets no colour."""
WIDE = 64
LABEL, NARROW_LABEL = 32, 14
"""Cells that a row's label gets at least before a column goes."""
MOST_MOVED = 6
OF_CEILING = 0.005
"""A change by less than this share of a metric's range gets no colour either: its old value was almost nothing."""
GAUGE = 8
CASE = 9
"""Cells of a case's name at the head of its column."""
MOST_BLOCKS = 4
"""So many metrics by case have a block each below the others, a row a case; more of them get a column a case."""
ALIKE = ("memory_roofline_pct", "compute_roofline_pct")
"""The share of a roofline again, when all cases are limited by one thing."""

_TITLES: dict[Group, str] = {
    "speed": "Speed",
    "counters": "Hardware counters",
    "hot loop": "Hot loop",
    "speed of light": "Speed of light",
    "memory": "Memory",
    "warp stalls": "Warp stalls, %",
    "occupancy": "Occupancy",
    "instructions": "Instructions",
    "compiler": "Compiler",
}
Row = tuple[str, Metric]
"""A label and what it stands for."""


def compared(sides: Sides, width: int) -> list[Content]:
    """Draw all metrics of all sides as one table, so that the columns are aligned; empty where there are none."""
    layout = _layout(sides, width)
    blank: list[Cell] = [""] * (len(layout.columns) - 1)
    groups = _counted(sides, layout) if layout.counted else _plain(sides, layout)
    filled = [(title, of, rows) for title, of, rows in groups if rows]
    cells: list[list[Cell]] = []
    for title, of, rows in filled:
        cells += [["", *blank], [(title, ".heading"), *blank]] if cells else []
        cells += [layout.row(of, label, metric) for label, metric in rows]
    return _titled(filled[0][0], layout.columns, cells, width) if filled else []


def moved_most(sides: Sides, changes: Sequence[Change], width: int) -> list[Content]:
    """Draw the metrics in `Explained.changes`, the largest change first. Empty where nothing has changed."""
    layout = replace(_layout(sides, width), by_case=False)
    rows = layout.labelled(_moved_most(changes, _once(sides)), "stall: ")
    if not rows or not sides.parent:
        return []
    cells = [layout.row(sides, label, metric) for label, metric in rows]
    return _titled("Moved most", layout.columns, cells, width)


def _titled(title: str, columns: Sequence[Column], cells: Sequence[Sequence[Cell]], width: int) -> list[Content]:
    """Draw a table with its title in the header line."""
    head, *rest = table([replace(columns[0], title=title), *columns[1:]], cells, width)
    return [head.stylize(".heading", 0, len(title)), *rest]


def _layout(sides: Sides, width: int) -> "_Layout":
    return _Layout(sides, width >= WIDE, len(sides.by_case) > MOST_BLOCKS)


@dataclass(frozen=True)
class _Layout:
    """The columns that are useful; the table leaves out those that do not fit, the fastest cases first.

    A `counted` profile, with hundreds of metrics, has short labels, bars, and columns for cases.
    """

    sides: Sides
    wide: bool
    counted: bool
    by_case: bool = True

    @property
    def cases(self) -> tuple[str, ...]:
        return self.sides.cases if self.counted and self.wide and self.by_case else ()

    @property
    def bars(self) -> bool:
        return self.counted or self.wide

    @property
    def columns(self) -> list[Column]:
        spelt = self.wide and not self.counted
        now, before = ("candidate", "incumbent") if spelt else ("cand.", "inc.")
        brief = {"baseline": "base", "marked": "mark then"}[self.sides.third_is]
        third = brief if not spelt else "marked then" if self.sides.third_is == "marked" else "baseline"
        columns = [Column("", right=False, least=LABEL if self.cases else NARROW_LABEL)]
        columns += [Column("", right=False, keep=700)] if self.bars else []
        columns += [Column(now, keep=900)]
        columns += [Column(before, keep=600), Column("Δ", keep=800)] if self.sides.parent else []
        columns += [Column(third, keep=550)] if self.sides.third else []
        return columns + [Column(name, keep=500 - nth) for nth, name in enumerate(_heads(self.cases))]

    def row(self, sides: Sides, label: str, metric: Metric) -> list[Cell]:
        share = metric.group == "warp stalls"
        now, before, first = (_value(side, metric) for side in sides.all)
        cells: list[Cell] = [label]
        if self.bars:
            part = now / 100 if now is not None and (share or metric.unit.startswith("%")) else None
            cells.append(gauge(part, GAUGE if self.wide else 1))
        cells.append(compact(now))
        cells += [compact(before), (moved(now, before), _style(metric, sides))] if sides.parent else []
        cells += [compact(first)] if sides.third else []
        for case in self.cases:
            value = _value(sides.mine, replace(metric, name=of_case(metric.name, case)))
            cells.append((compact(value), ".muted") if metric.name in sides.by_case else "")
        return cells

    def labelled(self, metrics: Iterable[Metric], stall: str = "") -> list[Row]:
        """Return each metric with its label; `stall` goes before the label of a stall where no heading names it one."""
        room, rows = LABEL, []
        for metric in metrics:
            before = stall if metric.group == "warp stalls" else ""
            label = before + long(metric)
            fits = self.wide and (not self.counted or len(label) <= room)
            rows.append((label if fits else before + short(metric), metric))
        return rows


def _plain(sides: Sides, layout: _Layout) -> Iterator[tuple[str, Sides, list[Row]]]:
    """Yield the groups of metrics of all cases, and a block for each metric that single cases have."""
    for group, metrics in grouped(name for name in sides.names if not parted(name)[1]).items():
        yield _TITLES[group], sides, layout.labelled(metrics)
    for name in (name for name in sides.by_case if name in PER_CASE):
        label = long(METRICS[name])
        cases = sorted(case for plain, case in map(parted, sides.names) if plain == name and case)
        rows = [(clean(case), replace(METRICS[name], name=of_case(name, case))) for case in cases]
        yield f"{label[:1].upper()}{label[1:]}, by case", sides, rows
    yield _others(sides)


def _counted(sides: Sides, layout: _Layout) -> Iterator[tuple[str, Sides, list[Row]]]:
    """Yield the groups of a GPU's metrics: without repetitions, and with only those stalls that matter."""
    groups = grouped(_once(sides))
    groups["instructions"] = [*groups.pop("counters"), *groups["instructions"]]
    for group, metrics in groups.items():
        of, kept = stalls(sides, metrics) if group == "warp stalls" else (sides, metrics)
        yield _TITLES[group], of, layout.labelled(kept)
    yield _others(sides)


def _once(sides: Sides) -> set[str]:
    """Return the metrics of all cases, without those that repeat another one."""
    names = {name for name in sides.names if not parted(name)[1]}
    if "event_us" in names:
        names.discard("call_us")
    return names - {
        name for name in ALIKE if all(side.get(name) in (None, side.get("roofline_pct")) for side in sides.all)
    }


def _moved_most(changes: Sequence[Change], names: Iterable[str]) -> list[Metric]:
    """Return the metrics in `changes`; not times, which are in the table right below."""
    known = {name: METRICS[name] for name in names if name in METRICS and METRICS[name].group != "speed"}
    return [known[one.metric] for one in changes if isinstance(one, MetricChange) and one.metric in known][:MOST_MOVED]


def _others(sides: Sides) -> tuple[str, Sides, list[Row]]:
    unknown = sorted(name for name in sides.names if describe(name) is None)
    return "Others", sides, [(clean(name), Metric(name, name, "", "speed", None)) for name in unknown]


def _value(side: Mapping[str, float], metric: Metric) -> float | None:
    """Return the value as it is shown: a stall's share in percent."""
    value = side.get(metric.name)
    return 100 * value if value is not None and metric.group == "warp stalls" else value


def _heads(cases: tuple[str, ...]) -> list[str]:
    """Return the names of the cases for the column heads, short ones if these are all different."""
    brief = [squeezed(clean(case), CASE) for case in cases]
    return brief if len(set(brief)) == len(brief) else [clean(case) for case in cases]


def _style(metric: Metric, sides: Sides) -> str:
    now, before = sides.mine.get(metric.name), sides.parent.get(metric.name)
    if now is None or before is None or metric.better is None:
        return ".muted"
    by = delta(now, before) if before else now
    least = OF_CEILING * metric.ceiling if metric.ceiling is not None else 0.0
    if by is None or abs(by) < SAME_PCT or abs(now - before) < least:
        return ".muted"
    return ".good" if (by > 0) == (metric.better == "up") else ".bad"
