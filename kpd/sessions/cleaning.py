"""Cleans what comes from an agent: it can be kept as UTF-8, and has none of the values of the agent's keys."""

import base64
import json
import os
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

    def holds(self, text: str) -> str:
        """Return the name of a variable whose value is in `text`, as it is or encoded; empty where there is none."""
        whole = "".join(text.split()).replace("-", "+").replace("_", "/")  # both alphabets, and no ends of lines
        lower = whole.lower()
        for name, value in self.secrets:
            data = os.fsencode(value)
            if value in text or data.hex() in lower or any(form in whole for form in in_base64(data)):
                return name
        return ""

    def held(self, text: str) -> int:
        """Return how many characters at the end of `text` have to wait for more: a secret may begin there."""
        cut = len(text)
        for _, value in self.secrets:
            longest = min(len(value) - 1, len(text))
            cut = min(cut, len(text) - next((n for n in range(longest, 0, -1) if text.endswith(value[:n])), 0))
        for _, value in self.secrets:  # a whole one that reaches beyond the cut waits, too
            while (at := text.find(value, max(0, cut - len(value) + 1), cut + len(value) - 1)) >= 0 and at < cut:
                cut = at
        return len(text) - cut

    def message(self, line: bytes) -> Any:
        """Read a line of JSON; all text in it is clean. Raises ValueError, RecursionError."""
        plain = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace").decode()
        for name, value in self.secrets:
            plain = plain.replace(json.dumps(value, ensure_ascii=False)[1:-1], f"({name})")
        return json.loads(plain)


def in_base64(data: bytes) -> tuple[str, ...]:
    """Return how the data look in base64: for each place in a group of three bytes what depends on nothing beside."""
    whole = [base64.b64encode(bytes(before) + data).decode() for before in range(3)]
    return tuple(text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6] for before, text in enumerate(whole))


class CleanedStream:
    """Cleans text that comes in pieces, of which none may show a part of a secret."""

    def __init__(self, cleaner: TextCleaner) -> None:
        self._cleaner = cleaner
        self.held = ""

    def feed(self, text: str) -> str:
        """Take in a piece; return what can be shown by now."""
        text = self.held + text
        shown = len(text) - self._cleaner.held(text)
        self.held = text[shown:]
        return self._cleaner.text(text[:shown])

    def rest(self) -> str:
        """Return what is still held back: nothing more comes."""
        held, self.held = self.held, ""
        return self._cleaner.text(held)
