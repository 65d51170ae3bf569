"""What a run waits for, as a person wants to read it: in brief, and the path of a file that is waited for in full."""

import re
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len

from kpd.model.nouns import Run, State
from kpd.workspace.paths import Workspace
from tui.words.text import clean, first_line


@dataclass(frozen=True, slots=True)
class Waits:
    """`path` is the file that somebody is to write, as it is on disk; `text` names it in short. Empty without one."""

    text: str
    path: str = ""


def waits(state: State, run: Run) -> Waits:
    """For what, without the word itself. A file is known by lying in the folder of the iteration under way."""
    now, reason = run.current, run.waiting
    path = ""
    if now is not None and state.workspace:
        folder = Workspace(Path(state.workspace)).iteration_folder(run.task, run.id, now.number)
        found = re.search(re.escape(f"{folder}/") + r"[\w.-]+", reason)
        path = found[0] if found is not None else ""
    short = reason.replace(path, Path(path).name) if path else reason
    return Waits(first_line(short).removeprefix("waiting "), path)


def folded(path: str, width: int) -> list[str]:
    """A path over as many lines as it needs, between its folders where that is possible; joined, they are the path."""
    lines = [""]
    for folder in re.findall(r"[^/]*/|[^/]+", clean(path)):
        for piece in [folder] if cell_len(folder) <= width else folder:
            if lines[-1] and cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    return lines
