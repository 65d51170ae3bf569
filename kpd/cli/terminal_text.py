"""Prepares text for a terminal: makes columns, cuts to the width."""

import contextlib
import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from kpd.text.foreign import visible

COLOURS = {"green": "32", "red": "31", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}
WIDTH = 100


def clean(value: Any) -> Any:
    """Return an answer of the daemon with every string in it safe to print."""
    match value:
        case str():
            return visible(value)
        case list():
            return [clean(item) for item in value]
        case dict():
            return {visible(key): clean(item) for key, item in value.items()}
    return value


def line(text: str) -> str:
    """Return `text` on one line, safe to print."""
    return " ".join(visible(text).split())


def out(*lines: str) -> None:
    """Print data to stdout, one line per text."""
    sys.stdout.writelines(f"{text}\n" for text in lines)


def narrate(text: str) -> None:
    """Print a message to stderr, so that stdout has only data. A message that cannot be written is dropped."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def out_json(value: Any) -> None:
    """Print JSON in ASCII only: its escapes keep control characters away from a terminal."""
    out(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def colours(stream: TextIO | None = None) -> bool:
    stream = stream or sys.stdout
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, on: bool) -> str:
    """Return `text` in `colour`; unchanged where `on` is false or `colour` empty."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if on and text and colour else text


def columns() -> int | None:
    """Return the terminal's width, or None where stdout is a file or a pipe: then nothing is cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def width(text: str) -> int:
    """Count the terminal cells that `text` takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, cells: int) -> str:
    """Cut `text` to `cells`, ending in … where something is missing."""
    if width(text) <= cells:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > cells - 1:
            break
        kept += char
    return f"{kept}…" if cells > 0 else ""


def pad(text: str, cells: int, right: bool = False) -> str:
    space = " " * (cells - width(text))
    return space + text if right else text + space


def table(head: Sequence[str], rows: Iterable[Sequence[str]], limit: int | None, right: str = "") -> list[str]:
    """Format aligned columns, the last one cut to the space that `limit` leaves.

    Heads named in `right` (separated by blanks; _ stands for a blank in a name) are aligned to the right.
    """
    body = [[line(cell) for cell in row] for row in rows]
    widths = [max(width(row[at]) for row in [list(head), *body]) for at in range(len(head))]
    if limit is not None:
        widths[-1] = min(widths[-1], max(limit - sum(widths[:-1]) - 2 * (len(head) - 1), 8))
    sides = [name.replace(" ", "_") in right.split() for name in head]
    lines = []
    for row in [list(head), *body]:
        cells = (pad(cut(c, w), w, side) for c, w, side in zip(row, widths, sides, strict=True))
        lines.append("  ".join(cells).rstrip())
    return lines


def wrapped(text: str, limit: int | None, indent: str = "") -> list[str]:
    """Fold paragraphs to `limit` cells (100 without a terminal), each line after `indent`."""
    import textwrap

    room = max((limit or WIDTH) - len(indent), 20)
    lines = (textwrap.wrap(part, room, break_long_words=False) or [""] for part in visible(text).splitlines())
    return [f"{indent}{row}".rstrip() for part in lines for row in part]
