"""Draws the roofline chart: the candidate's speed against the device's limit at its arithmetic intensity.

The model is that of Williams, Waterman and Patterson (2009). A task whose operations nobody has counted has a bar.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.content import Content

from kpd.model.metrics import of_case
from kpd.model.run import Run
from kpd.model.state import State
from tui.format.gauge import gauge
from tui.format.numbers import compact, percent
from tui.format.table import Cell, Column, table
from tui.panes.parts import heading, sentence
from tui.panes.plot import LogAxis, Plot

WIDE, WIDEST = 64, 84
"""From this width on names are spelt out; no chart is wider."""
HEIGHT, TALL = 8, 11
MOST_CASES = 12
ROOM = 1.6
"""The factor by which the axes extend beyond the data."""
CASE = "∘"
ABSURD = 1_000


@dataclass(frozen=True, slots=True)
class Roof:
    """The measured limits of a device: memory bandwidth in GB/s, and GFLOP/s; None where one is not known."""

    gbs: float | None = None
    gflops: float | None = None

    def at(self, intensity: float) -> float | None:
        """Return the GFLOP/s possible at an arithmetic intensity in FLOP per byte; None where the roof is not known."""
        if self.gbs is None or self.gflops is None:
            return None
        return min(self.gflops, self.gbs * intensity)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the iterations that are compared, with its metrics."""

    glyph: str
    style: str
    name: str
    metrics: Mapping[str, float]

    @property
    def gflops(self) -> float | None:
        return _known(self.metrics, "gflops")

    @property
    def gbs(self) -> float | None:
        return _known(self.metrics, "gbs")

    @property
    def intensity(self) -> float | None:
        return _known(self.metrics, "intensity") or _ratio(self.gflops, self.gbs)

    def share(self, roof: Roof) -> float | None:
        """Return the share of the roof: at its intensity, else of the bandwidth, else the roofline metric's."""
        at = self.intensity
        if self.gflops is not None and at is not None and (most := roof.at(at)):
            return self.gflops / most
        if self.gbs is not None and roof.gbs:
            return self.gbs / roof.gbs
        part = _known(self.metrics, "roofline_pct")
        return None if part is None else part / 100


def roof_of(state: State, run: Run) -> Roof:
    """Return the roof of the device that the run is on, from the card of its host."""
    card = state.hosts.get(run.host)
    if card is None:
        return Roof()
    device = next((one for one in card.devices if one.id == run.device_id and one.kind == "gpu"), None)
    found = card if device is None and run.device_id in ("", "cpu") else device
    return Roof() if found is None else Roof(_positive(found.bandwidth_gbs), _positive(found.peak_gflops))


def roofline(sides: Sequence[Side], cases: Sequence[str], roof: Roof, width: int, tall: bool) -> list[Content]:
    """Draw the roofline; empty where nothing is known of the candidate.

    The first of `sides` is the candidate, whose `cases` are marked, too.
    """
    known = [side for side in sides if side.share(roof) is not None or side.gbs is not None]
    if not known or known[0] is not sides[0]:
        return []
    plotted = [side for side in known if side.gflops is not None and side.intensity is not None]
    if plotted and plotted[0] is sides[0] and roof.gbs is not None and roof.gflops is not None:
        found = [_title(f"{compact(roof.gbs)} GB/s, {compact(roof.gflops)} GFLOP/s measured", width)]
        dots = _dots(sides[0].metrics, cases) if len(cases) > 1 else []
        found += _chart(plotted, dots, roof, min(width, WIDEST), TALL if tall else HEIGHT)
        found += _legend(plotted, roof, width)
        found += sentence(f"{CASE} the candidate's {len(dots)} cases", width) if dots else []
    else:
        told = f"of {compact(roof.gbs)} GB/s measured" if roof.gbs is not None else "of what the device allows"
        found = [_title(told, width), *_bars(known, roof, width)]
    if any((side.share(roof) or 0) > 1.005 for side in known):
        found += sentence("More than 100 %: the roof is that of memory, and some of this came out of a cache.", width)
    return found


def _title(aside: str, width: int) -> Content:
    return heading("Roofline", (aside, ".muted")).truncate(width, ellipsis=True)


def _chart(
    sides: Sequence[Side], dots: list[tuple[float, float]], roof: Roof, width: int, height: int
) -> list[Content]:
    assert roof.gbs is not None and roof.gflops is not None
    points = [(side.intensity or 0.0, side.gflops or 0.0) for side in sides]
    ridge = roof.gflops / roof.gbs
    xs = [x for x, _ in (*points, *dots)] + [ridge]
    x = LogAxis(min(xs) / ROOM, max(xs) * ROOM)
    ys = [y for _, y in (*points, *dots)]
    y = LogAxis(min(*ys, roof.gflops) / ROOM, max(*ys, roof.gflops) * ROOM)
    plot = Plot(x, y, width, height, "FLOP/byte", "GFLOP/s")
    plot.curve(lambda at: roof.at(at) or 0.0, ".accent")
    for at in dots:
        plot.mark(*at, CASE, ".muted")
    for side, at in reversed(list(zip(sides, points, strict=True))):
        plot.mark(*at, side.glyph, side.style)
    return plot.lines()


def _legend(sides: Sequence[Side], roof: Roof, width: int) -> list[Content]:
    rows: list[list[Cell]] = [
        [_named(side), compact(side.intensity), compact(side.gflops), compact(side.gbs), _part(side, roof)]
        for side in sides
    ]
    columns = [_names(sides), Column("FLOP/byte", keep=6), Column("GFLOP/s", keep=8)]
    return table([*columns, Column("GB/s", keep=4), Column("of its roof" if width >= WIDE else "of roof")], rows, width)


def _bars(sides: Sequence[Side], roof: Roof, width: int) -> list[Content]:
    cells = 32 if width >= WIDEST else 20 if width >= WIDE else 12
    rows: list[list[Cell]] = [
        [_named(side), gauge(side.share(roof), cells), f"{compact(side.gbs)} GB/s" if side.gbs is not None else "",
         _part(side, roof)]
        for side in sides
    ]  # fmt: skip
    return table([_names(sides), Column("", right=False, keep=5), Column("", keep=7), Column("")], rows, width)[1:]


def _names(sides: Sequence[Side]) -> Column:
    return Column("", right=False, least=max(_named(side).cell_length for side in sides))


def _named(side: Side) -> Content:
    return Content.assemble((side.glyph + " ", side.style), side.name)


def _part(side: Side, roof: Roof) -> str:
    """Format a side's share in percent; from ABSURD on, which only a mistake in the task explains, as `> 1,000 ×`."""
    share = side.share(roof)
    return percent(None if share is None else 100 * share) if share is None or share < ABSURD else f"> {ABSURD:,} ×"


def _dots(metrics: Mapping[str, float], cases: Sequence[str]) -> list[tuple[float, float]]:
    """Return intensity and GFLOP/s of each case that has both."""
    found = []
    for case in cases[:MOST_CASES]:
        gflops, gbs = (_known(metrics, of_case(name, case)) for name in ("gflops", "gbs"))
        if gflops is not None and (at := _ratio(gflops, gbs)) is not None:
            found.append((at, gflops))
    return found


def _known(metrics: Mapping[str, float], name: str) -> float | None:
    return _positive(metrics.get(name))


def _positive(value: float | None) -> float | None:
    """Return the value if it can stand on a logarithmic axis, else None."""
    return value if value is not None and math.isfinite(value) and 1e-12 < value < 1e15 else None


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one / other
