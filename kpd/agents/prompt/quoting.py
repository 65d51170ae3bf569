"""Quotes text of others in a prompt, in fences that nothing in the text can close."""

import re

from kpd.knowledge.markdown import open_fence

SHORTEST = 3
_TICKS = re.compile(r"`+")


def fenced(text: str, info: str = "") -> str:
    """Return `text` between two fences of backticks, longer than any run of them inside; not a character of it is changed.

    By CommonMark a fence is closed by one at least as long as the one that opened it: no line of `text` is.
    """
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(SHORTEST, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{info}\n{text}{end}{fence}"


def close_fences(text: str) -> str:
    """Return `text` with the fence closed that it leaves open, if it does: what follows it is none of it."""
    fence = open_fence(text)
    return f"{text}\n{fence}" if fence else text


def quoted(text: str) -> str:
    """Return `text` to the letter, each of its lines marked with `>`: none of them can pose as a heading or a fence.

    Whatever a reader may take for the end of a line is one.
    """
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def readable(text: str) -> str:
    """Return `text` without what drives terminals or hides between letters; line ends and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if char in "\n\t" or char.isprintable() else " " for char in text)
