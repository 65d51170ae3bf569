"""Notes which skills of its session an agent has opened, as far as it tells which files its tools work on."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kpd.sessions.folder import SessionFolder
from kpd.sessions.permissions import wish_of
from kpd.tools.manifest import SKILL

READING = ("read", "search", "execute")
PATH = re.compile(rf"(?<![\w.-])(?:skills/[\w-]+\.md|tools/[a-z0-9-]+/{re.escape(SKILL)})(?![\w.-])")
MOST_CALLS = 500
"""Calls of tools under way that are remembered."""


class SkillReads:
    """The skills that an agent has opened in a turn. A call counts once it has succeeded."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._wanted: dict[str, set[str]] = {}
        self._paths: dict[str, None] = {}

    def hear(self, update: Mapping[str, Any]) -> None:
        """Take in one update of a call of a tool; it may hold anything."""
        call = str(update.get("toolCallId"))
        if isinstance(kind := update.get("kind"), str):
            self._kinds[call] = kind
        wish = wish_of({**update, "kind": self._kinds.get(call)})
        if wish.tool in READING:
            found = (match.group() for text in (*wish.paths, wish.command) for match in PATH.finditer(text))
            self._wanted.setdefault(call, set()).update(found)
        if update.get("status") == "completed":
            self._paths |= dict.fromkeys(sorted(self._wanted.pop(call, set())))
        for known in (self._kinds, self._wanted):
            while len(known) > MOST_CALLS:
                del known[next(iter(known))]

    def of(self, folder: SessionFolder, given: Iterable[str]) -> tuple[str, ...]:
        """Return those that the session really has: kpd's by their id, built ones (`given`) as `name@version`."""
        known = {f"skills/{path.name}": path.stem for path in (folder.root / "skills").glob("*.md")}
        known |= {f"tools/{ref.partition('@')[0]}/{SKILL}": ref for ref in given}
        return tuple(known[path] for path in self._paths if path in known)
