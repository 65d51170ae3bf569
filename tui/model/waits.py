"""Describes what a run waits for: briefly, with the full path of a file that is waited for."""

import re
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs
from rich.cells import cell_len

from kpd.model.run import Run
from kpd.model.waits import ForReply, Wait
from kpd.text.waits import wait
from tui.format.text import clean, first_line


@dataclass(frozen=True, slots=True)
class Waits:
    """What a run waits for: `text` in short, and `path` if it is a file that somebody must write, else empty."""

    text: str
    path: str = ""


def waits(run: Run) -> Waits:
    """Describe what the run waits for, without the word "waits"."""
    return described(run.waiting)


def described(found: Wait | None) -> Waits:
    """Describe what something waits for."""
    if not isinstance(found, ForReply):
        return Waits(first_line(wait(found)))
    return Waits(first_line(wait(structs.replace(found, path=Path(found.path).name))), found.path)


def folded(path: str, width: int) -> list[str]:
    """Split a path into as many lines as it needs, between folders where possible; joined, they are the path."""
    lines = [""]
    for folder in re.findall(r"[^/]*/|[^/]+", clean(path)):
        for piece in [folder] if cell_len(folder) <= width else folder:
            if lines[-1] and cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    return lines
