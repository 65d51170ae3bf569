"""Joins an answer that came in several parts.

A model cannot be made to continue with the very next character: it often repeats the last line, or opens its code block
again. So it is asked to repeat the end of what it has written first, which shows where the pieces meet.
"""

import re

from kpd.knowledge.markdown import open_fence

LEAST, MOST = 24, 400
"""The least and most characters that are repeated: few enough to be copied exactly, enough to be unique."""
REACH = 20_000
"""How many characters back a longer repetition than was asked for is searched."""

OPENED_ANEW = re.compile(
    r"\s*(?:(?! {0,3}(?:```|~~~))[^\n]*\S[^\n]*\n\s*)?^ {0,3}(?:`{3,}|~{3,})[^\n]*\n", re.MULTILINE
)
"""The start of a piece: at most one line of prose, then a line that opens a code block."""


def ending(text: str) -> str:
    """Return the end of `text`, which the continuation is asked to repeat first.

    It begins at a line where lines are short enough, and has no white space at its end.
    """
    text = text.rstrip()
    start = text.rfind("\n", 0, max(len(text) - LEAST, 0)) + 1
    return text[max(start, len(text) - MOST) :]


def join(before: str, after: str) -> str:
    """Return `before` followed by the new part of `after`, with no character twice.

    The result is exact if `after` begins with `ending(before)`, or continues at once. A longer repetition, and a code
    block that was opened again, are removed only where they cannot be anything else.
    """
    if not before.strip():
        return after if after.startswith(before) else before + after
    bare, named = _without_fence(before, after)
    for piece in (after, bare, named):
        joined = None if piece is None else _at_ending(before, piece)
        if joined is not None:
            return joined
    for piece in (after, bare, named):
        repeated = 0 if piece is None else _repeated(before, piece)
        if piece is not None and repeated:
            return before + piece[repeated:]
    return before + (after if named is None else named)


def _at_ending(before: str, after: str) -> str | None:
    """Return the two parts joined, if `after` repeats the ending of `before`; else None.

    White space around the ending is taken as the model typed it.
    """
    end = ending(before).lstrip()
    piece = after.lstrip()
    if not piece.startswith(end):
        return None
    rest, kept = piece[len(end) :], before.rstrip()
    if not rest:
        return before
    gap = before[len(kept) :]
    went_on_after_gap = not rest.startswith(gap) and not rest[0].isspace()
    return (before if went_on_after_gap else kept) + rest


def _repeated(before: str, after: str) -> int:
    """Return how many characters at the start of `after` repeat the end of `before`; 0 where that may be chance."""
    first = after[:LEAST]
    tail = before[-REACH:]
    at = tail.find(first) if len(first) == LEAST and first.strip() else -1
    while at >= 0:
        if after.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(first, at + 1)
    return 0


def _without_fence(before: str, after: str) -> tuple[str | None, str | None]:
    """Return `after` without a code fence at its start, as (if the fence names nothing, if it names something).

    At most one of the two is not None. Inside a block, a fence that names a language or a file cannot close the block,
    so the block was opened again. A fence without a name may be the end of the block.
    """
    found = OPENED_ANEW.match(after) if open_fence(before) else None
    if found is None:
        return None, None
    rest = after[found.end() :]
    name = found[0].strip().rsplit("\n", 1)[-1].strip(" `~")
    return (None, rest) if name else (rest, None)
