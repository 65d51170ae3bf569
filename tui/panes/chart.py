"""Draws the best score over the iterations as a chart of box characters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from kpd.model.run import Run
from kpd.model.scores import Direction
from tui.format.numbers import figure
from tui.format.text import fit

MOST_SPREAD = 16
ALIKE = 0.01
"""Scores that differ by less than this share may stand on one line."""
SMALLEST = 1e-9


@dataclass(frozen=True, slots=True)
class Point:
    """One column of the chart: one iteration, or several when there are more of them than columns."""

    label: int
    best: float | None
    score: float | None
    accepted: bool
    failed: bool


def points(run: Run, columns: int, direction: Direction = "lower") -> list[Point]:
    """Group the run's iterations into at most `columns` points, each with the best accepted score so far."""
    per = max(1, math.ceil(len(run.iterations) / max(1, columns)))
    better = min if direction == "lower" else max
    best: float | None = None
    found = []
    for first in range(0, len(run.iterations), per):
        group = run.iterations[first : first + per]
        scores = [it.score for it in group if it.score is not None and math.isfinite(it.score)]
        won = [it for it in group if it.outcome in ("baseline", "accepted") or it.override]
        for it in won:
            if it.score is not None and math.isfinite(it.score):
                best = it.score if best is None else better(best, it.score)
        failed = not scores and any(it.outcome in ("rejected", "failed") for it in group)
        score = better(scores) if scores else None
        found.append(Point(group[0].number, best, score, bool(won), failed))
    return found


def chart(run: Run, width: int, height: int, direction: Direction = "lower") -> list[Content]:
    """Draw `height` lines: the plot, marks for iterations without a score, and iteration numbers.

    Empty while nothing has a score. The stop score is a dotted line, if it is near enough to be on the plot.
    """
    known = [it.score for it in run.iterations if it.score is not None and math.isfinite(it.score)]
    if not known:
        return []
    goals = () if run.budget.stop_score is None else (run.budget.stop_score,)
    axis = max(cell_len(figure(score)) for score in (min(known), max(known), *goals)) + 2
    columns = max(4, width - axis - 1)
    shown = points(run, columns, direction)
    spread = max(1, min(MOST_SPREAD, columns // len(shown)))
    failed = any(point.failed for point in shown)
    height -= 1 + failed
    scale = _Scale.over(shown, height, run.budget.stop_score)
    goal = scale.goal(run.budget.stop_score)
    grid = [[("┄", ".accent") if row == goal else (" ", "")] * columns for row in range(height)]
    _draw_best(grid, shown, spread, scale)
    _draw_marks(grid, shown, spread, scale, direction)
    lines = []
    for row in range(height):
        label = figure(scale.value(row)) if row in (0, height - 1, height // 2) else ""
        if row == goal and run.budget.stop_score is not None:
            label = figure(run.budget.stop_score)
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
    """Rows of the plot by the logarithm of the score: equal gains are equal steps, however small the score."""

    low: float
    high: float
    height: int

    @classmethod
    def over(cls, shown: Sequence[Point], height: int, goal: float | None = None) -> "_Scale":
        """Make a scale from the best score to a little past the worst accepted one.

        One slow outlier must not flatten the rest. A `goal` is on it unless that would take more than half of the plot.
        """
        bests = [_log(point.best) for point in shown if point.best is not None]
        scores = [_log(point.score) for point in shown if point.score is not None]
        low, worst, high = min(scores), max(scores), max(bests or scores)
        high = min(worst, high + (high - low) * 0.25)
        if goal is not None and goal > 0:
            wanted = _log(goal)
            if low - wanted <= high - low and wanted - high <= high - low:
                low, high = min(low, wanted), max(high, wanted)
        margin = (high - low) * 0.04 or 0.02
        return cls(low - margin, high + margin, height)

    def row(self, score: float) -> int:
        share = (self.high - _log(score)) / (self.high - self.low)
        return max(0, min(self.height - 1, round(share * (self.height - 1))))

    def value(self, row: int) -> float:
        return math.exp(self.high - (self.high - self.low) * row / max(1, self.height - 1))

    def goal(self, score: float | None) -> int | None:
        """Return the row of the stop score; None where it is off the plot."""
        if score is None or score <= 0 or not self.low <= _log(score) <= self.high:
            return None
        return self.row(score)

    def is_above(self, score: float) -> bool:
        return _log(score) > self.high


def _log(score: float) -> float:
    """Return the logarithm of a score; a score that is not positive goes to the bottom."""
    return math.log(max(score, SMALLEST))


Grid = list[list[tuple[str, str]]]


def _draw_best(grid: Grid, shown: Sequence[Point], spread: int, scale: _Scale) -> None:
    """Draw the best score as a staircase, with a step at each column where a better one is accepted."""
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


def _draw_marks(grid: Grid, shown: Sequence[Point], spread: int, scale: _Scale, direction: Direction) -> None:
    for nth, point in enumerate(shown):
        at = nth * spread
        if point.accepted and point.best is not None:
            grid[scale.row(point.best)][at] = ("◆" if nth == 0 else "▲", ".good")
        elif point.score is not None:
            above = scale.is_above(point.score)
            row = _beside_best(point, scale, direction)
            grid[row][at] = ("↑" if above else "·", ".bad" if above else ".strong")


def _beside_best(point: Point, scale: _Scale, direction: Direction) -> int:
    """Return the row of a score that was not accepted; a clearly worse one never shares the row of the best."""
    assert point.score is not None
    row = scale.row(point.score)
    if point.best is None or row != scale.row(point.best) or abs(point.score / point.best - 1) < ALIKE:
        return row
    worse = row - 1 if direction == "lower" else row + 1
    return worse if 0 <= worse < scale.height else row


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
