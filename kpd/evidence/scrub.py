"""Takes keys out of a bundle's files always, and on demand the names of people and hosts, and home paths.

A name becomes the same placeholder wherever it is, so that a scrubbed run can still be followed.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

REDACTED = "[redacted]"
PUBLIC = frozenset({"", "/", "root", "/root", "local", "localhost", "operator", "user", "ubuntu", "127.0.0.1"})
"""Words that name neither a person nor a machine."""
SHORTEST_KEY = 8
"""Shorter values of keys are not looked for: ordinary words would be replaced."""
_KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bhf_[A-Za-z0-9]{20,}|\bnvapi-[A-Za-z0-9_-]{20,}|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\bA[KS]IA[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{16,}=*",
    re.DOTALL,
)
_HOME = re.compile(r"(?<![\w.])/(?:home|Users)/(?!user\d+\b)([\w.@+-]+)")
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_ADDRESS = re.compile(r"(?<![\w.])(?!127\.0\.0\.1\b)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_DEVICE = re.compile(r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_PLACE = re.compile(r"(?P<home>" + _HOME.pattern + ")|" + "|".join(one.pattern for one in (_MAIL, _ADDRESS, _DEVICE)))


class StillNamed(Exception):
    """The error that something is left in a bundle that was to be scrubbed; the message says what, and where."""


@dataclass(slots=True)
class Scrub:
    """`keys` are values that are secret. `names` are the words to replace, with their placeholders; None: no scrubbing.

    `redacted` counts the keys that were found.
    """

    keys: tuple[str, ...] = ()
    names: Mapping[str, str] | None = None
    redacted: int = 0
    _places: dict[str, str] = field(default_factory=dict)

    def file(self, name: str, data: bytes, hashes: Mapping[str, str] | None = None) -> bytes:
        """Return the file's content without what must go. In JSON, `hashes` of other files become those of now."""
        if name.endswith((".json", ".jsonl")):
            rows = data.splitlines() if name.endswith(".jsonl") else [data]
            done = [self._json(row, hashes or {}) for row in rows]
            if done == rows:
                return data
            return b"\n".join(done) + b"\n" if name.endswith(".jsonl") else done[0]
        return self.text(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")

    def _json(self, raw: bytes, hashes: Mapping[str, str]) -> bytes:
        try:
            before = json.loads(raw)
        except (ValueError, RecursionError):  # a program of others wrote it
            return self.text(raw.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        after = _walked(before, lambda text: hashes.get(text) or self.text(text))
        if after == before:
            return raw
        try:
            return json.dumps(after, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half a character
            return json.dumps(after).encode()

    def text(self, text: str) -> str:
        """Return the text without what must go."""
        for key in self.keys:
            self.redacted += text.count(key)
            text = text.replace(key, REDACTED)
        text, found = _KEYS.subn(REDACTED, text)
        self.redacted += found
        if self.names is None:
            return text
        for word, placeholder in self.names.items():
            if word in text:
                text = re.sub(_alone(word), placeholder, text)
        return _PLACE.sub(self._placeholder, text)

    def _placeholder(self, found: re.Match[str]) -> str:
        kind = "/home/user" if found["home"] else "device" if found[0].startswith("GPU-") else "address"
        known = sum(one.startswith(kind) for one in self._places.values())
        return self._places.setdefault(found[0], f"{kind}{known + 100}")


def placeholders(people: Iterable[str], hosts: Iterable[str], paths: Mapping[str, str]) -> dict[str, str]:
    """Return a placeholder for each name, the longest name first; `paths` have theirs already."""
    found = dict(paths)
    for kind, words in (("user", people), ("host", hosts)):
        numbers = count(1)
        for word in sorted({word for word in words if word not in PUBLIC}):
            found.setdefault(word, f"{kind}{next(numbers)}")
    return dict(sorted(found.items(), key=lambda one: (-len(one[0]), one[0])))


def refuse_named(files: Mapping[str, bytes], scrub: Scrub) -> None:
    """Look through all files once more. Raises StillNamed where a key, a name or a home path is left."""
    for name, data in files.items():
        for text in _texts(name, data):
            seen = next((word for word in (scrub.names or {}) if re.search(_alone(word), text)), None)
            home = _HOME.search(text) if scrub.names is not None else None
            if seen or home or _KEYS.search(text) or any(key in text for key in scrub.keys):
                what = repr(seen) if seen else f"{home[0]!r}" if home else "a key"
                raise StillNamed(f"{name} still holds {what}")


def _alone(word: str) -> str:
    """Return a pattern of the word where it is no part of another one."""
    return r"(?<![A-Za-z0-9_])" + re.escape(word) + r"(?![A-Za-z0-9_])"


def _walked(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON with its texts changed; names of fields stay, other keys, such as paths, are texts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_walked(one, change) for one in value]
    if isinstance(value, dict):
        return {_key(key, change): one if key == "kind" else _walked(one, change) for key, one in value.items()}
    return value


def _key(key: str, change: Callable[[str], str]) -> str:
    return key if key.isidentifier() else change(key)


def _texts(name: str, data: bytes) -> Iterator[str]:
    """Yield all texts of a file: of JSON the values, as names of fields are kpd's own."""
    texts: list[str] = []

    def keep(text: str) -> str:
        texts.append(text)
        return text

    for row in data.splitlines() if name.endswith(".jsonl") else [data]:
        try:
            if not name.endswith((".json", ".jsonl")):
                raise ValueError
            _walked(json.loads(row), keep)
        except (ValueError, RecursionError):
            texts.append(row.decode(errors="surrogateescape"))
    yield name
    yield from texts
