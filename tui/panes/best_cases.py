"""Draws for every case of a run how fast the incumbent is, and which candidate is the fastest there."""

from math import log

from rich.cells import cell_len
from textual.content import Content

from kpd.model.case_matrix import CaseSpeedups
from kpd.model.headline import ALONE
from kpd.model.profiles import MANY_CASES
from kpd.model.run import Run
from kpd.model.verdicts import Speedup
from kpd.text.gains import column, times
from kpd.text.numbers import counted
from tui.format.gauge import gauge
from tui.format.table import GAP, Cell, Column, table
from tui.format.text import BLANK, Part, as_fits, clean, wrapped
from tui.model.answers import BestCases, Problem
from tui.model.view import View
from tui.panes.parts import heading, problem, sentence

INTERVALS = 68
"""Cells that the other columns need beside the names of the cases where they have intervals."""
BAR = 16
NEAR = 1.001
"""A case whose best is at most so many times the incumbent's speed has nothing to win."""

_COLUMNS = (
    Column("case", right=False, least=10),
    Column("weight", keep=3),
    Column("incumbent", keep=8),
    Column("best", keep=9),
    Column("by", right=False, keep=7),
    Column("to win", keep=6),
    Column("of the best", right=False, keep=1),
)
_WEIGHT, _BAR = 1, len(_COLUMNS) - 1


def lines(view: View, run: Run, width: int) -> list[Content]:
    """Draw all cases of the run: the Metrics tab where no iteration is selected."""
    answer = view.shown.best_cases
    if isinstance(answer, Problem):
        return problem(answer, width)
    if answer is None:
        return sentence(f"Asking the daemon for the cases of {run.id}.", width)
    if not answer.cases:
        return sentence(_why_none(run), width)
    return [*_block(run, answer, width, len(answer.cases)), *_matrix(run, answer, width)]


def below(view: View, run: Run, width: int) -> list[Content]:
    """Draw the cases that win the most, below the metrics of an iteration; empty while there is nothing to compare."""
    answer = view.shown.best_cases
    if not isinstance(answer, BestCases) or not answer.cases:
        return []
    return _block(run, answer, width, MANY_CASES)


def _block(run: Run, answer: BestCases, width: int, most: int) -> list[Content]:
    rows = _most_to_win_first(run, answer)
    left = len(rows) - most
    order: Part = (f", {counted(len(rows), 'case')}, the most to win first", ".muted")
    head = as_fits(heading("Best of each case", ("speed-up over the baseline", ".muted")), [order], width).truncate(
        width, ellipsis=True
    )
    left_out = {_WEIGHT} if len({row.weight for row in rows}) == 1 else set()
    room = width - max(cell_len(row.case) for row in rows) - INTERVALS
    left_out |= {_BAR} if room < BAR + GAP else set()
    shown = [at for at in range(len(_COLUMNS)) if at not in left_out]
    cells = [_row(row, run, room >= 0) for row in rows[:most]]
    found = [head, *table([_COLUMNS[at] for at in shown], [[one[at] for at in shown] for one in cells], width)]
    if left > 0:
        found.append(Content.styled(f"and {left} more: {run.id} itself, on the left, shows all", ".muted"))
    return [*found, BLANK, *_dispatch(answer, width)]


def _most_to_win_first(run: Run, answer: BestCases) -> list[CaseSpeedups]:
    return sorted(answer.cases, key=lambda row: row.weight * log(_to_win(row, run)), reverse=True)


def _matrix(run: Run, answer: BestCases, width: int) -> list[Content]:
    """Draw the speed-up of every candidate in every case; the oldest candidates are left out where there is no room."""
    numbers = sorted({number for row in answer.cases for number in row.speedups})
    if len(numbers) < 2:
        return []
    columns = [Column("case", right=False, least=10)]
    named = [f"★{number}" if number == run.incumbent else str(number) for number in numbers]
    columns += [Column(name, keep=at) for at, name in enumerate(named)]
    rows: list[list[Cell]] = []
    for row in _most_to_win_first(run, answer):
        best, _ = _best(row, run)
        rows.append([clean(row.case), *(_speed(row, number, number == best) for number in numbers)])
    head = heading("All candidates", ("speed-up over the baseline, by iteration; ★ the incumbent", ".muted"))
    return [BLANK, head.truncate(width, ellipsis=True), *table(columns, rows, width)]


def _speed(row: CaseSpeedups, number: int, is_best: bool) -> Cell:
    if (found := row.speedups.get(number)) is None:
        return "–", ".off"
    return times(found.ratio), ".strong" if is_best else ".bad" if found.high < 1 else ".muted"


def _row(row: CaseSpeedups, run: Run, wide: bool) -> list[Cell]:
    mine, (number, best) = _incumbent(row, run), _best(row, run)
    win = _to_win(row, run)
    style = ".good" if win > NEAR and best.low > mine.high else ".muted"
    same = number == run.incumbent
    return [
        clean(row.case),
        (f"{row.weight:g}", ".muted"),
        column(mine) if wide else times(mine.ratio),
        ("the same" if same else column(best) if wide else times(best.ratio), style),
        ("" if same else _name(run, number), style),
        ("" if win <= NEAR else times(win), style),
        gauge(1 / win, BAR),
    ]


def _incumbent(row: CaseSpeedups, run: Run) -> Speedup:
    """Return the incumbent's speed-up in a case; the baseline's where it is unknown, and for the baseline itself."""
    return row.speedups.get(run.incumbent, ALONE) if run.incumbent is not None else ALONE


def _best(row: CaseSpeedups, run: Run) -> tuple[int | None, Speedup]:
    """Return the fastest in a case and its speed-up: the incumbent unless another is faster, None for the baseline."""
    mine = _incumbent(row, run)
    known = [(run.incumbent, mine), (row.best, row.speedups[row.best]), (None, ALONE)]
    return max(known, key=lambda one: one[1].ratio)


def _to_win(row: CaseSpeedups, run: Run) -> float:
    return _best(row, run)[1].ratio / _incumbent(row, run).ratio


def _name(run: Run, number: int | None) -> str:
    return "baseline" if number is None else f"{run.id}.{number}"


def _dispatch(answer: BestCases, width: int) -> list[Content]:
    gain = answer.dispatch
    if gain is None or gain <= NEAR:
        none = "No candidate is faster than the incumbent in any case: a dispatch table would win nothing."
        return sentence(none, width)
    told = f"A dispatch table with the best of each case would be at most {times(gain)} as fast as the incumbent."
    return [
        *wrapped(told, width, ".strong"),
        *sentence("At most, as the best of many always looks a little too good. Green: faster beyond doubt.", width),
    ]


def _why_none(run: Run) -> str:
    if run.iterations and run.baseline is None:
        return "The best candidate of each case appears here when the baseline and a candidate have been timed."
    return (
        "The best candidate of each case appears here when a candidate has been timed."
        " Runs of an older kpd kept no intervals of single cases, so nothing is known of theirs."
    )
