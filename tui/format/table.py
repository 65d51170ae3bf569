"""Lays out a small table without cutting numbers: the text column wraps, then whole columns are left out."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from tui.format.text import fit

GAP = 2
MOST_FOLDS = 4
FOLD_INDENT = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; in a narrow pane those with the lowest `keep` are left out first."""

    title: str
    right: bool = True
    keep: int = 9
    least: int = 6


Cell = str | tuple[str, str] | Content
"""Text, text with its style, or styled content: a figure, which is never cut."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> list[Content]:
    """Return the lines of a table: a header, and one line or more for each row.

    The first column holds text and takes the width that the others leave.
    """
    shown = list(range(len(columns)))
    widths = [max([cell_len(column.title), *(_length(row[at]) for row in rows)]) for at, column in enumerate(columns)]
    while len(shown) > 2 and columns[0].least + _needed(shown, widths) > width:
        shown.remove(min(shown[1:], key=lambda at: (columns[at].keep, at)))
    widths[0] = max(columns[0].least, min(widths[0], width - _needed(shown, widths)))

    def row_line(cells: Sequence[Cell]) -> Content:
        fitted = [_fitted(cells[at], widths[at], columns[at].right and at > 0) for at in shown]
        return Content(" " * GAP).join(fitted)

    lines = [row_line([(column.title, ".muted") for column in columns])]
    for row in rows:
        first, *more = _folded(row[0], widths[0])
        lines.append(row_line([first, *row[1:]]))
        lines += [Content(" " * FOLD_INDENT) + _fitted(rest, _length(rest), False) for rest in more]
    return lines


def _folded(cell: Cell, width: int) -> list[Cell]:
    """Return the text column's cell wrapped over several lines where it is long; styled content stays in one line."""
    if isinstance(cell, Content):
        return [cell]
    text, style = (cell, "") if isinstance(cell, str) else cell
    pieces = Content(text).wrap(width)[:MOST_FOLDS]
    return [(piece.plain.rstrip(), style) for piece in pieces] or [cell]


def _fitted(cell: Cell, width: int, right: bool) -> Content:
    if isinstance(cell, Content):
        space = Content(" " * (width - cell.cell_length))
        return space + cell if right else cell + space
    text, style = (cell, "") if isinstance(cell, str) else cell
    return Content.styled(fit(text, width, right), style)


def _needed(shown: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[at] + GAP for at in shown[1:])


def _length(cell: Cell) -> int:
    if isinstance(cell, Content):
        return cell.cell_length
    return cell_len(cell if isinstance(cell, str) else cell[0])
