"""Lays out a line of output as rows of a pane, and finds words in it."""

import re
from functools import lru_cache

from rich.cells import cell_len
from textual.content import Content

from kpd.model.session import EDIT, KPD, OPERATOR, THOUGHT, TOOL, TOOL_DONE, TOOL_FAILED
from tui.format.text import fit, wrapped
from tui.model.output import MOST_LINES, PROSE, OutputLine
from tui.panes.folding import cut

NARROW = 64
STYLES = {
    THOUGHT: ".muted", TOOL: ".accent", TOOL_DONE: ".good", TOOL_FAILED: ".bad", KPD: ".muted", OPERATOR: ".warn",
}  # fmt: skip
"""How the lines of a conversation look; an agent's words are plain."""
MARKED = (".accent", ".good", ".bad", ".warn")
"""Styles in which the channel is drawn, too."""


def gutter(width: int) -> int:
    """Return the number of cells before printed text, for its channel and a rule."""
    return 8 if width < NARROW else 11


def height(one: OutputLine, width: int) -> int:
    """Return the number of rows that the line takes, quickly for short lines, of which there are thousands."""
    text, room = one.text, width - gutter(width)
    if len(text) <= room and text.isascii():
        return 1
    return len(rows(one, width))


def rows(one: OutputLine, width: int) -> tuple[str, ...]:
    """Wrap the line into rows: an agent's prose between words, output of programs at the edge, as in a terminal."""
    room = max(1, width - gutter(width))
    return _prose(one.text, room) if one.channel in PROSE else _cut(one.text, room)


def drawn(one: OutputLine, nth: int, width: int) -> Content:
    channel = fit(one.channel if nth == 0 else "", gutter(width) - 3, right=True)
    look = STYLES.get(one.channel, "")
    if one.channel == EDIT:
        look = {"+": ".added", "-": ".removed", "…": ".muted"}.get(one.text[:1], ".strong")
        channel = channel if look == ".strong" else " " * len(channel)
    return Content.assemble((f"{channel} │ ", look if look in MARKED else ".muted"), (rows(one, width)[nth], look))


def found(one: OutputLine, wanted: re.Pattern[str], width: int) -> list[int]:
    """Return the rows that hold a match, or a part of one that is wrapped."""
    if wanted.search(one.text) is None:
        return []
    if one.channel in PROSE:
        return [nth for nth, text in enumerate(rows(one, width)) if wanted.search(text)]
    return sorted({nth for nth, _, _ in stretches(one, wanted, width)})


def stretches(one: OutputLine, wanted: re.Pattern[str], width: int) -> list[tuple[int, int, int]]:
    """Return the row, start and end of each match; a match that is wrapped has several."""
    if one.channel in PROSE:
        texts = enumerate(rows(one, width))
        return [(nth, *match.span()) for nth, text in texts for match in wanted.finditer(text)]
    spans = [match.span() for match in wanted.finditer(one.text)]
    said, at = [], 0
    for nth, text in enumerate(rows(one, width)):
        said += [
            (nth, max(begin, at) - at, min(end, at + len(text)) - at)
            for begin, end in spans
            if begin < at + len(text) and end > at
        ]
        at += len(text)
    return said


@lru_cache(maxsize=MOST_LINES)
def _prose(text: str, room: int) -> tuple[str, ...]:
    return (text,) if cell_len(text) <= room else tuple(one.plain for one in wrapped(text, room))


@lru_cache(maxsize=MOST_LINES)
def _cut(text: str, room: int) -> tuple[str, ...]:
    return cut(text, room)
