"""Draws the speed-up over the iterations as a chart of box characters, on a logarithmic axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from kpd.model.headline import speedups
from kpd.model.run import Run
from kpd.model.scores import Direction, speedup
from kpd.text.gains import times
from tui.format.text import fit

MOST_SPREAD = 16
ALIKE = 0.01
"""Speed-ups that differ by less than this share may stand on one line."""
SMALLEST = 1e-9
TITLE = "speed-up over the baseline, log scale"
TITLED = 8
"""Lines from which on there is room for the title."""
ROUND = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
"""Labels of the axis, times powers of ten; where it is short, what lies between, in finer and finer steps."""


@dataclass(frozen=True, slots=True)
class Point:
    """One column of the chart: one iteration, or several when there are more of them than columns.

    `best` is the speed-up of the incumbent over the baseline, `own` that of the iteration, both chained.
    """

    label: int
    best: float | None
    own: float | None
    accepted: bool
    failed: bool


def points(run: Run, columns: int) -> list[Point]:
    """Group the run's iterations into at most `columns` points, each with the best accepted speed-up so far.

    The first is never grouped: it is the baseline, the foot of the chart.
    """
    its = run.iterations
    per = max(1, math.ceil((len(its) - 1) / max(1, columns - 1)))
    chained = speedups(run)
    best: float | None = None
    found = []
    for group in (its[:1], *(its[first : first + per] for first in range(1, len(its), per))):
        own = [chained[it.number] for it in group if it.number in chained]
        won = [it for it in group if it.outcome in ("baseline", "accepted") or it.override]
        best = max(
            (*(chained[it.number] for it in won if it.number in chained), *(() if best is None else (best,))),
            default=None,
        )
        failed = not own and any(it.outcome in ("rejected", "failed") for it in group)
        found.append(Point(group[0].number, best, max(own, default=None), bool(won), failed))
    return found


def chart(run: Run, width: int, height: int, direction: Direction = "lower") -> list[Content]:
    """Draw `height` lines: the plot, marks for iterations that were not measured, and iteration numbers.

    Empty while nothing was measured. The stop score is a dotted line, if it is near enough to be on the plot;
    `direction` says which scores are better.
    """
    known = speedups(run)
    if not known:
        return []
    axis = max(cell_len(times(value)) for value in (*known.values(), 1.25)) + 2
    columns = max(4, width - axis - 1)
    shown = points(run, columns)
    spread = max(1, min(MOST_SPREAD, columns // len(shown)))
    failed = any(point.failed for point in shown)
    lines = []
    if height >= TITLED and width >= axis + cell_len(TITLE):
        lines.append(Content.assemble(" " * axis, (TITLE, ".muted")))
    height -= 1 + failed + len(lines)
    stop = speedup(run.baseline.score if run.baseline is not None else None, run.budget.stop_score, direction)
    scale = _Scale.over(shown, height, stop)
    goal = scale.goal(stop)
    grid = [[("┄", ".accent") if row == goal else (" ", "")] * columns for row in range(height)]
    _draw_best(grid, shown, spread, scale)
    _draw_marks(grid, shown, spread, scale)
    labels = scale.labels()
    for row in range(height):
        label = times(stop) if row == goal and stop is not None else labels.get(row, "")
        side = (fit(label, axis - 1, right=True) + " ", ".accent" if row == goal else ".muted")
        lines.append(Content.assemble(side, ("┤" if label else "│", ".muted"), *_runs(grid[row])))
    if failed:
        fallen = [
            ("✗", ".bad") if column % spread == 0 and _failed(shown, column // spread) else (" ", "")
            for column in range(columns)
        ]
        lines.append(Content.assemble(" " * axis, ("│", ".muted"), *_runs(fallen)))
    lines.append(Content.assemble(" " * axis, ("└", ".muted"), (_numbers(shown, spread, columns), ".muted")))
    return lines


@dataclass(frozen=True, slots=True)
class _Scale:
    """Rows of the plot by the logarithm of the speed-up: equal gains are equal steps."""

    low: float
    high: float
    height: int

    @classmethod
    def over(cls, shown: Sequence[Point], height: int, goal: float | None = None) -> "_Scale":
        """Make a scale from a little below the worst accepted speed-up to the best one.

        One slow outlier must not flatten the rest. A `goal` is on it unless that would take more than half of the plot.
        """
        bests = [_log(point.best) for point in shown if point.best is not None]
        own = [_log(point.own) for point in shown if point.own is not None]
        high, worst, low = max(own), min(own), min(bests or own)
        low = max(worst, low - (high - low) * 0.25)
        if goal is not None and goal > 0:
            wanted = _log(goal)
            if low - wanted <= high - low and wanted - high <= high - low:
                low, high = min(low, wanted), max(high, wanted)
        margin = (high - low) * 0.04 or 0.02
        return cls(low - margin, high + margin, height)

    def row(self, value: float) -> int:
        share = (self.high - _log(value)) / (self.high - self.low)
        return max(0, min(self.height - 1, round(share * (self.height - 1))))

    def labels(self) -> dict[int, str]:
        """Return the labels of the axis by row: round speed-ups, about one every four rows; the finest two at least."""
        most = max(2, self.height // 3)
        low, high = math.exp(self.low), math.exp(self.high)
        found: dict[int, str] = {}
        for step in (None, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005):
            finer = {self.row(value): f"{value:.4g}×" for value in _round(low, high, step)}
            if len(finer) > most and found:
                break
            if len(finer) <= self.height:
                found = finer
            if len(found) >= 2:
                break
        return found

    def goal(self, value: float | None) -> int | None:
        """Return the row of the stop score; None where it is off the plot."""
        if value is None or value <= 0 or not self.low <= _log(value) <= self.high:
            return None
        return self.row(value)

    def is_below(self, value: float) -> bool:
        return _log(value) < self.low


def _round(low: float, high: float, step: float | None) -> list[float]:
    """Return the round values between `low` and `high`: multiples of `step`; None: ROUND times the powers of ten."""
    if step is None:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [value for power in powers for one in ROUND if low <= (value := one * 10.0**power) <= high]
    first, last = math.ceil(low / step), math.floor(high / step)
    return [nth * step for nth in range(first, min(last, first + 200) + 1)]


def _log(value: float) -> float:
    """Return the logarithm of a speed-up; one that is not positive goes to the bottom."""
    return math.log(max(value, SMALLEST))


Grid = list[list[tuple[str, str]]]


def _draw_best(grid: Grid, shown: Sequence[Point], spread: int, scale: _Scale) -> None:
    """Draw the best speed-up as a staircase, with a step at each column where a better one is accepted."""
    level: int | None = None
    for nth, point in enumerate(shown):
        if point.best is None:
            continue
        at, row = nth * spread, scale.row(point.best)
        if level is not None and row != level:
            top, bottom = sorted((level, row))
            for between in range(top + 1, bottom):
                grid[between][at] = ("│", ".good")
            grid[level][at] = ("╮" if row > level else "╯", ".good")
            grid[row][at] = ("╰" if row > level else "╭", ".good")
        elif level is not None:
            grid[row][at] = ("─", ".good")
        level = row
        for x in range(at + 1, min(at + spread, len(grid[0]))):
            if nth + 1 < len(shown):
                grid[row][x] = ("─", ".good")


def _draw_marks(grid: Grid, shown: Sequence[Point], spread: int, scale: _Scale) -> None:
    for nth, point in enumerate(shown):
        at = nth * spread
        if point.accepted and point.best is not None:
            grid[scale.row(point.best)][at] = ("◆" if nth == 0 else "▲", ".good")
        elif point.own is not None:
            below = scale.is_below(point.own)
            row = _beside_best(point, scale)
            grid[row][at] = ("↓" if below else "·", ".bad" if below else ".strong")


def _beside_best(point: Point, scale: _Scale) -> int:
    """Return the row of one that was not accepted; a clearly worse one never shares the row of the best."""
    assert point.own is not None
    row = scale.row(point.own)
    if point.best is None or row != scale.row(point.best) or abs(point.own / point.best - 1) < ALIKE:
        return row
    return row + 1 if row + 1 < scale.height else row


def _failed(shown: Sequence[Point], nth: int) -> bool:
    return nth < len(shown) and shown[nth].failed


def _runs(cells: Sequence[tuple[str, str]]) -> list[tuple[str, str] | str]:
    """Join neighbouring cells of one style, so that a line has few spans."""
    joined: list[tuple[str, str]] = []
    for char, style in cells:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + char, style)
        else:
            joined.append((char, style))
    return [part if part[1] else part[0] for part in joined]


def _numbers(shown: Sequence[Point], spread: int, columns: int) -> str:
    """Return the iteration numbers under their columns, as many as fit without touching."""
    text = [" "] * columns
    free = 0
    for nth, point in enumerate(shown):
        label, at = str(point.label), nth * spread
        if at >= free and at + len(label) <= columns:
            text[at : at + len(label)] = label
            free = at + len(label) + max(2, 8 - spread)
    return "".join(text)
