"""Draws a plot with two logarithmic axes in characters: a curve, marks, labels."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from textual.content import Content

from tui.format.numbers import compact
from tui.format.text import Part, fit, line

_LEVELS = "▔─▁"
"""A curve within a cell, from the top down; only characters that every font has."""
FEW = 3
"""With fewer powers of ten on an axis than that, twos and fives are labelled, too."""
LABEL = 7
"""Cells of a label beside the vertical axis."""


@dataclass(frozen=True, slots=True)
class LogAxis:
    """An axis from `low` to `high`, both positive."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return the position of `value` between the ends, from 0 to 1."""
        return math.log(value / self.low) / math.log(self.high / self.low)

    def at(self, share: float) -> float:
        return float(self.low * (self.high / self.low) ** share)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten between the ends; where these are few, also twice and five times as much."""
        powers = range(math.floor(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        tens = [10.0**power for power in powers]
        whole = [value for value in tens if self.low <= value <= self.high]
        if len(whole) >= FEW:
            return whole
        return [value for ten in tens for value in (ten, 2 * ten, 5 * ten) if self.low <= value <= self.high]


@dataclass(slots=True)
class Plot:
    """A plot; `width` and `height` include the labels of its axes."""

    x: LogAxis
    y: LogAxis
    width: int
    height: int
    x_name: str
    y_name: str
    _marks: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    _curve: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        return max(4, self.width - LABEL - 2)

    @property
    def rows(self) -> int:
        return max(2, self.height - 2)

    def curve(self, of: Callable[[float], float], style: str) -> None:
        """Draw the curve y = `of`(x) over the whole width."""
        for column in range(self.columns):
            value = of(self.x.at((column + 0.5) / self.columns))
            if value > 0:
                row, level = divmod(math.floor((1 - self.y.share(value)) * len(_LEVELS) * self.rows), len(_LEVELS))
                self._curve[row, column] = (_LEVELS[level], style)

    def mark(self, x: float, y: float, glyph: str, style: str) -> None:
        """Draw a mark above all curves; one outside of the plot is drawn at its edge."""
        column = min(self.columns - 1, max(0, math.floor(self.x.share(x) * self.columns)))
        row = min(self.rows - 1, max(0, math.floor((1 - self.y.share(y)) * self.rows)))
        self._marks[row, column] = (glyph, style)

    def lines(self) -> list[Content]:
        """Return the name of the vertical axis, the rows, and the horizontal axis with its labels."""
        found = [line((fit(self.y_name, LABEL, right=True), ".muted"))]
        ticks = {math.floor((1 - self.y.share(value)) * self.rows): value for value in self.y.ticks}
        for row in range(self.rows):
            label = fit(tick(ticks[row]), LABEL, right=True) if row in ticks else " " * LABEL
            cells: list[Part] = [self._cell(row, column) for column in range(self.columns)]
            found.append(line((label, ".muted"), (" ┤" if row in ticks else " │", ".off"), *cells))
        return [*found, *self._below()]

    def _below(self) -> list[Content]:
        """Draw the horizontal axis, its labels as far as they do not touch, and its name."""
        axis, labels = ["─"] * self.columns, [" "] * self.columns
        room = self.columns - len(self.x_name) - 1
        free = 0
        for value in self.x.ticks:
            at = math.floor(self.x.share(value) * self.columns)
            text = tick(value)
            begin = max(free, at - len(text) // 2)
            if at < self.columns:
                axis[at] = "┬"
            if begin + len(text) <= room and abs(begin + len(text) // 2 - at) <= 1:
                labels[begin : begin + len(text)] = text
                free = begin + len(text) + 1
        if room > 0:
            labels[room + 1 :] = self.x_name
        return [
            line((" " * LABEL + " └" + "".join(axis), ".off")),
            line((" " * (LABEL + 2) + "".join(labels), ".muted")),
        ]

    def _cell(self, row: int, column: int) -> Part:
        return self._marks.get((row, column)) or self._curve.get((row, column)) or " "


def tick(value: float) -> str:
    """Format a round number without the decimals of a measured one."""
    return f"{value:g}" if 1e-3 <= value < 1e4 else compact(value)
