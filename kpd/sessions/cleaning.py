"""Cleans what comes from an agent: it can be kept as UTF-8, and has none of the values of the agent's keys."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHORTEST = 6
"""Shorter values of keys are not looked for: ordinary words would be replaced."""


@dataclass(frozen=True, slots=True)
class TextCleaner:
    """Replaces the values in `secrets` by the names in front of them, and halves of characters by `?`."""

    secrets: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, keys: Mapping[str, str]) -> "TextCleaner":
        """Return the cleaner for these variables; the longest value is looked for first, as it may hold another."""
        known = [(name, value) for name, value in keys.items() if len(value) >= SHORTEST]
        return cls(tuple(sorted(known, key=lambda one: -len(one[1]))))

    def text(self, text: str) -> str:
        found = text.encode(errors="replace").decode()
        for name, value in self.secrets:
            found = found.replace(value, f"({name})")
        return found

    def message(self, line: bytes) -> Any:
        """Read a line of JSON; all text in it is clean. Raises ValueError, RecursionError."""
        plain = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace").decode()
        for name, value in self.secrets:
            plain = plain.replace(json.dumps(value, ensure_ascii=False)[1:-1], f"({name})")
        return json.loads(plain)
