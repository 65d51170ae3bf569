"""Parses a unified diff into hunks and lines, bounded and safe to show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kpd.text.patches import NOTHING
from tui.format.text import LONGEST_LINE, clean

MOST_LINES = 20_000
"""Lines that are shown at all."""
MOST_MATCHED = 1_000
"""Pairs of removed and added lines that are looked at to find which are alike."""
ALIKE = 0.4
"""The share of two lines that must be the same for one to have taken the place of the other."""

Sign = Literal[" ", "+", "-", "\\"]
Pair = tuple[int | None, int | None]
"""The numbers of a hunk's lines that stand side by side, before and after."""

_SIGNS: dict[str, Sign] = {"+": "+", "-": "-", "\\": "\\"}
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diff: `old` and `new` are its numbers in both files; `cut` counts the characters left out."""

    sign: Sign
    text: str
    old: int | None = None
    new: int | None = None
    cut: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Hunk:
    """The lines of one place in one file; `section` is the function or section that the diff names for it.

    `note` says that the file is new, or that it was removed.
    """

    file: str
    section: str
    lines: tuple[Line, ...]
    note: Literal["", "new", "removed"] = ""

    @property
    def begins(self) -> int:
        """The number of the first line, in the new file as far as there is one."""
        first = self.lines[0] if self.lines else Line(" ", "")
        return first.new or first.old or 1

    def pairs(self) -> Iterator[Pair]:
        """Yield all lines side by side: each removed line beside the one that replaces it."""
        removed: list[int] = []
        added: list[int] = []
        for nth, line in enumerate(self.lines):
            if line.sign == "-" and not added:
                removed.append(nth)
            elif line.sign == "+":
                added.append(nth)
            elif line.sign != "\\":
                yield from self._paired(removed, added)
                removed, added = ([nth], []) if line.sign == "-" else ([], [])
                if line.sign == " ":
                    yield nth, nth
        yield from self._paired(removed, added)

    def _paired(self, removed: list[int], added: list[int]) -> Iterator[Pair]:
        """Yield pairs of a removed and an added line: similar lines together, those between them in order."""
        i = j = 0
        for there, here in (*self._matches(removed, added), (len(removed), len(added))):
            for nth in range(max(there - i, here - j)):
                old, new = i + nth, j + nth
                yield removed[old] if old < there else None, added[new] if new < here else None
            if there < len(removed):
                yield removed[there], added[here]
            i, j = there + 1, here + 1

    def _matches(self, removed: list[int], added: list[int]) -> list[tuple[int, int]]:
        """Match removed with added lines that are most alike, in the order of both; of large blocks none."""
        if not removed or not added or len(removed) == len(added) or len(removed) * len(added) > MOST_MATCHED:
            return []
        best = [[(0.0, False)] * (len(added) + 1) for _ in range(len(removed) + 1)]
        for i in reversed(range(len(removed))):
            for j in reversed(range(len(added))):
                share = alike(self.lines[removed[i]].text, self.lines[added[j]].text)
                taken = best[i + 1][j + 1][0] + share if share >= ALIKE else 0.0
                passed = max(best[i + 1][j][0], best[i][j + 1][0])
                best[i][j] = (taken, True) if taken > passed else (passed, False)
        found, i, j = [], 0, 0
        while i < len(removed) and j < len(added):
            if best[i][j][1]:
                found.append((i, j))
                i, j = i + 1, j + 1
            elif best[i + 1][j][0] >= best[i][j + 1][0]:
                i += 1
            else:
                j += 1
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A parsed diff. `added` and `removed` count all lines, also the `left_out` ones; `remarks` belong to no hunk."""

    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    left_out: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(hunk.file for hunk in self.hunks))


@lru_cache(maxsize=4)
def parsed(text: str) -> Patch:
    """Parse a diff; lines that make no sense become remarks."""
    reader = _Reader()
    for raw in text.split("\n"):
        reader.read(raw.removesuffix("\r"))
    return reader.patch()


class _Reader:
    """A reader of single lines. It knows a hunk's length from its header, so it takes no `--- x` in it for a header."""

    def __init__(self) -> None:
        self._hunks: list[Hunk] = []
        self._lines: list[Line] = []
        self._remarks: list[str] = []
        self._file = self._section = self._moved = ""
        self._note: Literal["", "new", "removed"] = ""
        self._old = self._new = self._old_left = self._new_left = 0
        self._kept = self._added = self._removed = self._left_out = 0

    def read(self, raw: str) -> None:
        sign = raw[:1]
        if self._old_left > 0 or self._new_left > 0:
            self._in_hunk(raw)
        elif sign == "\\" and self._lines:
            self._keep(raw, None, None)
        elif (found := _HUNK.match(raw[:LONGEST_LINE])) is not None:
            self._end()
            self._old, self._new = int(found[1]), int(found[3])
            self._old_left, self._new_left = int(found[2] or 1), int(found[4] or 1)
            self._section = clean(found[5])
        elif raw.startswith("--- "):
            self._end()
            self._file = _name(raw[4:], self._file)
            self._note = "new" if raw[4:] == NOTHING else ""
        elif raw.startswith("+++ "):
            self._file = _name(raw[4:], self._file)
            self._note = "removed" if raw[4:] == NOTHING else self._note
        elif raw.startswith("rename from "):
            self._moved = clean(raw.removeprefix("rename from "))
        elif raw.startswith("rename to "):
            self._remarks.append(f"{self._moved} is now {clean(raw.removeprefix('rename to '))}")
        elif raw.startswith(("diff --git ", "similarity index ")):
            self._end()
        elif raw.strip():
            self._end()
            self._remarks.append(clean(raw))

    def patch(self) -> Patch:
        self._end()
        return Patch(tuple(self._hunks), self._added, self._removed, self._left_out, tuple(self._remarks[:MOST_LINES]))

    def _in_hunk(self, raw: str) -> None:
        sign = raw[:1]
        if sign == "\\":
            self._keep(raw, None, None)
            return
        old = None if sign == "+" else self._old
        new = None if sign == "-" else self._new
        self._keep(raw, old, new)
        if old is not None:
            self._old, self._old_left = old + 1, self._old_left - 1
        if new is not None:
            self._new, self._new_left = new + 1, self._new_left - 1
        self._added += sign == "+"
        self._removed += sign == "-"

    def _keep(self, raw: str, old: int | None, new: int | None) -> None:
        if self._kept >= MOST_LINES:
            self._left_out += 1
            return
        self._kept += 1
        sign = _SIGNS.get(raw[:1], " ")
        text = raw if sign == "\\" else raw[1:]
        self._lines.append(Line(sign, clean(text), old, new, max(0, len(text) - LONGEST_LINE)))

    def _end(self) -> None:
        """End the hunk: keep the lines since the last header, if there are any."""
        if self._lines:
            self._hunks.append(Hunk(self._file, self._section, tuple(self._lines), self._note))
        self._lines = []
        self._section = ""
        self._old_left = self._new_left = 0


def _name(path: str, before: str) -> str:
    """Return a file's path without the side's name before it (`a/`, `r1.4/`); a deleted file keeps its old path."""
    path = clean(path.partition("\t")[0])
    return before if path == NOTHING else path.partition("/")[2] or path


def common(text: str, other: str) -> tuple[int, int]:
    """Count the characters that two lines have in common at the beginning and at the end; none is counted twice."""
    most = min(len(text), len(other))
    head = next((at for at in range(most) if text[at] != other[at]), most)
    tail = next((at for at in range(most - head) if text[-1 - at] != other[-1 - at]), most - head)
    return head, tail


def alike(text: str, other: str) -> float:
    """Compute how much two lines share at their ends, as a share of the longer one, without indentation."""
    head, tail = common(text, other)
    longest = max(len(text.strip()), len(other.strip()))
    same = len(text[:head].strip()) + len(text[len(text) - tail :].strip())
    return same / longest if longest else 0.0
