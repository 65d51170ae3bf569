"""Parses a memory file that people may have edited: kpd's entries, people's notes, and everything else."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from kpd.knowledge.markdown import MarkdownLine, lines
from kpd.model.deployments import Lesson
from kpd.text.foreign import bare

RUN = re.compile(r"## (Run (r\d+) · .*)")
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
DECIDED = ("rolled back", "chosen", *get_args(Lesson))
"""What may have become of an iteration later: by a person's decision, or in production."""
ENTRY = re.compile(rf"### (r\d+)\.(\d+) · ({_TIME})(?: · ({'|'.join(DECIDED)}) ({_TIME}))?")
_OWN = re.compile(f"(?:{RUN.pattern})|(?:{ENTRY.pattern})")
_OUTCOME = re.compile(r"(\w+)( by hand)?(?:: .*)?")
_GAIN = re.compile(
    r"(?P<lesson>\w+), (?:gain (?P<old>[+-]\d+(?:\.\d+)?) %"
    r"|(?P<pct>\d+(?:\.\d+)?) % (?P<way>less|more) time|(?P<times>[\d,.]+)×).*"
)
"""The gain in a line `verdict`, also as kpd wrote it before it told factors."""
_GUIDANCE = re.compile(r"(avoid|try)\s*:?", re.IGNORECASE)
_TITLE = re.compile(r"# What was tried on .*")


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """What is written about one iteration, which `began` at that time: UTC, as text that sorts by time.

    `heading` is its run's, without the marks. `text` is everything from its title on, with people's own lines. In an
    entry that a person's decision or a deployment added, `decided` says what became of the iteration, whatever was
    measured; it is one of `DECIDED`. `at` is when the entry came about: when that was decided, or the iteration began.
    """

    run: str
    number: int
    began: str
    at: str
    heading: str
    text: str
    decided: str = ""

    def line(self, name: str) -> str:
        """Return the text after `- name:`, unescaped; empty when there is no such line."""
        start = f"- {name}: "
        return next((bare(line[len(start) :].strip()) for line in self.text.split("\n") if line.startswith(start)), "")

    @property
    def outcome(self) -> tuple[str, bool]:
        """The first word of its line `outcome`, and whether it was set by hand; the reason after it is left out."""
        found = _OUTCOME.fullmatch(self.line("outcome"))
        return (found[1], bool(found[2])) if found else ("", False)

    @property
    def gain(self) -> float | None:
        """The gain in its line `verdict`, in percent of time saved; None when there is none."""
        found = _GAIN.fullmatch(self.line("verdict"))
        if found is None:
            return None
        if found["old"]:
            return float(found["old"])
        if found["pct"]:
            return float(found["pct"]) if found["way"] == "less" else -float(found["pct"])
        return _saved(found["times"])

    @property
    def lesson(self) -> str:
        """The first word of its line `verdict`: see `Verdict.lesson`; empty when there is none."""
        found = _GAIN.fullmatch(self.line("verdict"))
        return found["lesson"] if found else ""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A parsed memory file. `avoid` and `wanted` are people's `## Avoid` and `## Try`, `notes` their other text."""

    entries: tuple[MemoryEntry, ...] = ()
    avoid: str = ""
    wanted: str = ""
    notes: str = ""


def read_notebook(text: str) -> MemoryFile:
    """Parse the text of a memory file. Any text is valid: what is not understood is notes.

    A section `Avoid` or `Try`, of any level and in any case of letters, ends at the next heading that is not below it,
    or at kpd's next heading. Lines under an entry belong to it, with their headings; those between a run's heading and
    its first entry belong to that entry.
    """
    reader = _Reader()
    for line in lines(text, _OWN):
        reader.take(line)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self._entries: list[MemoryEntry] = []
        self._avoid: list[str] = []
        self._wanted: list[str] = []
        self._notes: list[str] = []
        self._run = ""  # the heading of the run that entries belong to
        self._open: re.Match[str] | None = None  # the title of the entry that is being read
        self._lines: list[str] = []  # of that entry, or before a run's first one
        self._in_run = False
        self._guided: list[str] | None = None
        self._level = 0  # of the guidance that is being read

    def take(self, line: MarkdownLine) -> None:
        if run := RUN.fullmatch(line.text):
            self._close()
            self._run, self._in_run, self._guided = run[1], True, None
        elif title := ENTRY.fullmatch(line.text):
            intro = self._lines if self._open is None and self._in_run else []
            if self._open is not None:
                self._close()
            self._open, self._lines, self._in_run, self._guided = title, [*intro, line.text], True, None
        elif line.level and _GUIDANCE.fullmatch(line.title) and (self._guided is None or line.level <= self._level):
            self._level = line.level
            self._guided = self._avoid if line.title.lower().startswith("avoid") else self._wanted
        elif self._guided is not None and not 0 < line.level <= self._level:
            self._guided.append(line.text)
        else:
            self._guided = None
            if 0 < line.level <= 2:
                self._close()
            (self._lines if self._in_run else self._notes).append(line.text)

    def _close(self) -> None:
        """End the entry; text in a run that has no entry is a note on that run."""
        text = "\n".join(self._lines).strip("\n")
        if self._open is not None:
            name, number, began, decided, at = self._open.groups()
            self._entries.append(MemoryEntry(name, int(number), began, at or began, self._run, text, decided or ""))
        elif text.strip():
            self._notes += [f"## {self._run}", text]
        self._open, self._lines, self._in_run = None, [], False

    def finish(self) -> MemoryFile:
        self._close()
        notes = (line for line in self._notes if not _TITLE.fullmatch(line))
        return MemoryFile(tuple(self._entries), _joined(self._avoid), _joined(self._wanted), _joined(notes))


def _saved(times: str) -> float | None:
    """Convert a factor, as it is written, to the share of time saved in percent; None where it is none."""
    try:
        ratio = float(times.replace(",", ""))
    except ValueError:
        return None
    return round(100 * (1 - 1 / ratio), 1) if ratio else None


def _joined(found: Iterable[str]) -> str:
    return "\n".join(found).strip()
