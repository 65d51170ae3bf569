"""Wraps a line of program text over several rows, at good places."""

from functools import lru_cache

from rich.cells import cell_len

HANGING = 4
"""Cells by which the rows after the first are set in below the line's own indent."""
LOOK_BACK = 16
"""Cells before the edge in which a good place for a break is looked for."""
_AFTER = " ,;{&|+"

Row = tuple[int, int, int]
"""The start and end of a row's characters, and its indentation in cells."""


@lru_cache(maxsize=4096)
def folded(text: str, room: int) -> tuple[Row, ...]:
    """Wrap `text` into rows of `room` cells. Nothing is lost, and every row has at least one character."""
    if cell_len(text) <= room:
        return ((0, len(text), 0),)
    indent = min(len(text) - len(text.lstrip()) + HANGING, room // 3)
    rows: list[Row] = []
    at = 0
    while at < len(text):
        inset = indent if rows else 0
        end = _end(text, at, room - inset)
        rows.append((at, end, inset))
        at = end
    return tuple(rows)


def cut(text: str, room: int) -> tuple[str, ...]:
    """Cut `text` into rows that are filled to the edge, as a terminal does."""
    if text.isascii():
        return tuple(text[at : at + room] for at in range(0, len(text), room)) or ("",)
    rows, at = [], 0
    while at < len(text):
        end = _filled(text, at, room)
        rows.append(text[at:end])
        at = end
    return tuple(rows)


def _end(text: str, at: int, room: int) -> int:
    """Return the end of the row that begins at `at`: at a good place for a break, if there is one near the edge."""
    end = _filled(text, at, room)
    if end >= len(text):
        return len(text)
    good = max(text.rfind(char, max(at + 1, end - LOOK_BACK), end) for char in _AFTER)
    return good + 1 if good > at and text[at : good + 1].strip() else end


def _filled(text: str, at: int, room: int) -> int:
    """Return the end of a row that is filled to its last cell."""
    end = min(len(text), at + room)
    if text[at:end].isascii():
        return max(end, at + 1)
    used, end = 0, at
    while end < len(text) and (used := used + cell_len(text[end])) <= room:
        end += 1
    return max(end, at + 1)
