"""Cuts, wraps and joins lines for a grid of cells."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from kpd.text.foreign import LONGEST_LINE as LONGEST_LINE, clean as clean

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s|min|h|[KMG]i?B(?:/s)?|GFLOP/s|MHz|W|°C)(?!\w))")
_TIE = "\ue000"
"""Stands for a space at which no line may end; no safe text contains it."""

Part = str | tuple[str, str]

BLANK = Content("")


def lines_of(text: str, most: int) -> list[str]:
    """Return the first `most` lines of `text`, each made safe to show."""
    return [clean(line) for line in text[: most * LONGEST_LINE].splitlines()[:most]]


def first_line(text: str) -> str:
    return next(iter(lines_of(text, 1)), "")


def clip(text: str, width: int) -> str:
    """Cut `text` to at most `width` cells, with … where something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 1 else "…"[: max(0, width)]


def squeezed(text: str, width: int) -> str:
    """Cut `text` to at most `width` cells, with … in the middle: similar names often differ at their ends."""
    if cell_len(text) <= width or width < 3:
        return clip(text, width)
    end = text[-(width // 2) :]
    while cell_len(end) > width // 2:
        end = end[1:]
    return clip(text, width - cell_len(end)) + end


def fit(text: str, width: int, right: bool = False) -> str:
    """Return `text` in exactly `width` cells: cut, or filled with spaces."""
    clipped = clip(text, width)
    space = " " * (width - cell_len(clipped))
    return space + clipped if right else clipped + space


def wrapped(text: str, width: int, style: str = "", indent: int = 0, most: int = 0) -> list[Content]:
    """Wrap `text` (any number of lines) into lines of at most `width` cells; with `most` > 0 into no more than that.

    A figure and its unit stay together.
    """
    body: list[Content] = []
    room = max(10, width - indent)
    for line in lines_of(text, 200) or [""]:
        if cell_len(line) <= room:  # most do, and wrapping takes six times longer than counting cells
            body.append(Content.styled(line, style))
            continue
        pieces = Content(_BEFORE_UNIT.sub(_TIE, line)).wrap(room)
        body += (Content.styled(piece.plain.replace(_TIE, " "), style) for piece in pieces)
    if most and len(body) > most:
        body = [*body[: most - 1], body[most - 1].truncate(max(1, width - indent - 1)).append("…")]
    return [Content.assemble(" " * indent, line) for line in body] if indent else body


def line(*parts: Part) -> Content:
    """Join plain and styled parts into a line; none of them is read as markup."""
    return Content.assemble(*(part for part in parts if part))


def as_fits(found: Content, more: Sequence[Part], width: int) -> Content:
    """Append parts to `found` until one does not fit into `width` cells; it and all after it are left out."""
    for part in more:
        longer = Content.assemble(found, part)
        if longer.cell_length > width:
            break
        found = longer
    return found


def beside(left: Sequence[Content], right: Sequence[Content], width: int, gap: int = 3) -> list[Content]:
    """Return two columns of lines: `left` in `width` cells, `right` after a gap."""
    rows = []
    for at in range(max(len(left), len(right))):
        first = left[at] if at < len(left) else Content("")
        second = right[at] if at < len(right) else Content("")
        rows.append(Content.assemble(first.truncate(width, pad=True), " " * gap, second))
    return rows


def joined(parts: Iterable[Content], separator: str = "   ") -> Content:
    return Content(separator).join(parts)
