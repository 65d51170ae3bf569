"""Quotes text of others in a prompt, in fences that nothing in the text can close."""

import re

from kpd.knowledge.markdown import open_fence

SHORTEST = 3
_TICKS = re.compile(r"`+")


def fenced(text: str, info: str = "") -> str:
    """Put `text` between two fences of backticks, unchanged.

    By CommonMark a fence is closed only by one that is at least as long, so these are longer than any run of backticks
    in `text`.
    """
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(SHORTEST, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{info}\n{text}{end}{fence}"


def close_fences(text: str) -> str:
    """Close the fence that `text` leaves open, if it does, so that what follows is not inside the block."""
    fence = open_fence(text)
    return f"{text}\n{fence}" if fence else text


def quoted(text: str) -> str:
    """Mark each line of `text` with `>`, so that no line can pass for a heading or a fence.

    Every character that a reader may take for the end of a line ends one.
    """
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def readable(text: str) -> str:
    """Replace control and invisible characters of `text` by spaces; line ends and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if char in "\n\t" or char.isprintable() else " " for char in text)
