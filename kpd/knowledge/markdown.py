"""Finds headings and fences in Markdown that kpd and people write into the same file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class MarkdownLine:
    """A line of text. For a heading, `level` is 1 to 6 and `title` its words; for any other line `level` is 0."""

    text: str
    level: int = 0
    title: str = ""


def lines(text: str, own: re.Pattern[str]) -> Iterator[MarkdownLine]:
    """Yield the lines of `text`. There are no headings in a fenced block, but a line that `own` matches ends any fence.

    Such lines are kpd's own headings: a fence that a person forgot to close must not swallow what kpd adds after it.
    """
    fence = ""
    for text_line in text.split("\n"):
        if own.fullmatch(text_line):
            fence = ""
        elif fence:
            fence = _after(text_line, fence)
            yield MarkdownLine(text_line)
            continue
        else:
            fence = _after(text_line, fence)
        found = _HEADING.fullmatch(text_line)
        yield MarkdownLine(text_line, len(found[1]), found[2]) if found else MarkdownLine(text_line)


def cut(text: str, limit: int) -> str:
    """Shorten `text` to `limit` characters at the end of a line; the last line is then `…`."""
    if len(text) <= limit:
        return text
    whole = text[: max(limit - 1, 0)].rpartition("\n")[0]
    return f"{whole}\n…" if whole else text[: max(limit - 1, 0)] + "…"


def open_fence(text: str) -> str:
    """Return the fence that `text` leaves open; empty when it leaves none."""
    fence = ""
    for line in text.split("\n"):
        fence = _after(line, fence)
    return fence


def _after(line: str, fence: str) -> str:
    """Return the fence that is open after `line`, with `fence` open before it."""
    found = _FENCE.fullmatch(line)
    if found is None:
        return fence
    if fence:
        return "" if found[1].startswith(fence) and not found[2].strip() else fence
    return "" if found[1][0] == "`" and "`" in found[2] else found[1]
