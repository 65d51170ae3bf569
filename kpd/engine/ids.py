"""Finds the next id of a run or a comparison."""

import re
from collections.abc import Iterable

from kpd.workspace.paths import Workspace


def next_id(workspace: Workspace, letter: str, known: Iterable[str]) -> str:
    """Return the next id that neither the log nor the runs folder has used; folders are never overwritten."""
    folders = (path.name for path in workspace.runs.glob(f"*/{letter}*"))
    used = [int(name[1:]) for name in (*known, *folders) if re.fullmatch(rf"{letter}\d+", name)]
    return f"{letter}{max(used, default=0) + 1}"
