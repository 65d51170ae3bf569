"""Shows what an agent's tool changes in a file, as far as the agent says it, in a few lines."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import PurePath
from typing import Any

from kpd.text.numbers import counted

MOST_LINES = 12
"""Changed lines of an edit that are shown."""
MOST_TEXT = 200_000
MOST_COMPARED = 3_000
"""Characters and lines of a file before and after; larger ones are not compared, which would take long."""


def edits(content: Any) -> Iterator[tuple[str, ...]]:
    """Yield each diff in the content of a tool call as lines. This raises nothing."""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") == "diff" and isinstance(part.get("path"), str):
            yield edited(part["path"], str(part.get("oldText") or ""), str(part.get("newText") or ""))


def edited(path: str, old: str, new: str) -> tuple[str, ...]:
    """Return the lines of one edit: the file, and what goes and comes."""
    name, was, now = PurePath(path).name, old.splitlines(), new.splitlines()
    if len(old) + len(new) > MOST_TEXT or len(was) + len(now) > MOST_COMPARED:
        return (f"{name}: too large to compare",)
    found = [line for line in unified_diff(was, now, n=0, lineterm="") if line[:2] != "@@"]
    changed = found[2:]
    plus = sum(line.startswith("+") for line in changed)
    more = [f"… {counted(len(changed) - MOST_LINES, 'more line')}"] if len(changed) > MOST_LINES else []
    return (f"{name} +{plus} -{len(changed) - plus}", *changed[:MOST_LINES], *more)
