"""Describes what a run waits for: briefly, with the full path of a file that is waited for."""

import re
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs
from rich.cells import cell_len

from kpd.model.state import Run
from kpd.model.waits import ForReply
from kpd.text.waits import wait
from tui.format.text import clean, first_line


@dataclass(frozen=True, slots=True)
class Waits:
    """`path` is the file that somebody is to write, as it is on disk; `text` names it in short. Empty without one."""

    text: str
    path: str = ""


def waits(run: Run) -> Waits:
    """For what, without the word itself."""
    found = run.waiting
    if not isinstance(found, ForReply):
        return Waits(first_line(wait(found)))
    return Waits(first_line(wait(structs.replace(found, path=Path(found.path).name))), found.path)


def folded(path: str, width: int) -> list[str]:
    """Return a path over as many lines as it needs, between its folders where that is possible; joined, they are the path."""
    lines = [""]
    for folder in re.findall(r"[^/]*/|[^/]+", clean(path)):
        for piece in [folder] if cell_len(folder) <= width else folder:
            if lines[-1] and cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    return lines
