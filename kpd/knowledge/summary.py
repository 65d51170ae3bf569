"""Reads and writes `memory/<task>.summary.md`, a summary of older entries. People may edit it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kpd.knowledge.markdown import lines
from kpd.text.foreign import bare, escaped
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import read_words

SECTIONS = ("Resolved", "Pending", "Avoid")
_TITLE = "# Summary of what was tried on {task}"
_OPENING = (
    "The memory of these runs in brief; {task}.md holds all of it. Edit it: the next summary starts from this one."
)
_TIME = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC"
_COVERS = re.compile(rf"Covers (.+), up to {_TIME}\.")
_REFUSED = re.compile(rf"No usable summary came of the entries up to {_TIME}: asked again when there are newer ones\.")
_NOBODYS = re.compile(r"(?!)")  # a fence in a summary ends where it is closed
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of older entries of a memory.

    `until` is when the newest of its entries began, `runs` names the runs of all of them. `text` holds the three
    sections, `more` whatever people have added, which comes first so that it is never taken for a part of a section.
    `refused` is set when an answer could not be used: the time at which the newest entry of that moment began.
    """

    until: str = ""
    runs: tuple[str, ...] = ()
    text: str = ""
    more: str = ""
    refused: str = ""

    @property
    def body(self) -> str:
        return "\n\n".join(part for part in (self.more, self.text) if part)

    def render(self, task: str) -> str:
        title, opening = _TITLE.format(task=task), _OPENING.format(task=task)
        covers = f"Covers {', '.join(self.runs)}, up to {self.until} UTC." if self.until else ""
        refused = (
            f"No usable summary came of the entries up to {self.refused} UTC: asked again when there are newer ones."
            if self.refused
            else ""
        )
        return "\n\n".join(part for part in (title, opening, covers, refused, self.body) if part) + "\n"


def summary_path(workspace: Workspace, task: str) -> Path:
    return workspace.memory / f"{task}.summary.md"


def read_summary(workspace: Workspace, task: str) -> Summary:
    """Read a task's summary, however people have edited it. Raises OSError.

    Without its line `Covers …` it stands for no entry.
    """
    text = read_words(summary_path(workspace, task)) or ""
    own = {_TITLE.format(task=task), _OPENING.format(task=task)}
    covers = refused = None
    kept: list[str] = []
    more: list[str] = []
    into = more
    for line in lines(text, _NOBODYS):
        if 0 < line.level <= 2:
            into = kept if _section(line.title) else more
        if found := _COVERS.fullmatch(line.text.strip()):
            covers = covers or found
        elif found := _REFUSED.fullmatch(line.text.strip()):
            refused = refused or found
        elif line.text.strip() not in own:
            into.append(line.text)
    until, runs = (covers[2], tuple(covers[1].split(", "))) if covers else ("", ())
    return Summary(until, runs, "\n".join(kept).strip(), "\n".join(more).strip(), refused[1] if refused else "")


def sections_of(reply: str) -> str | None:
    """Parse a model's reply into the three sections, with escaped items; None unless it has each section once.

    What comes before the first is left out, and so are headings and fences inside.
    """
    found: dict[str, list[str]] = {}
    into: list[str] | None = None
    for text in reply.split("\n"):
        heading = re.fullmatch(r"#{1,6}\s+(.+?)[\s:#]*", text.strip())
        if heading and (name := _section(heading[1])):
            if name in found:
                return None
            into = found[name] = []
        elif into is not None and not heading and (words := _words(text)):
            into.append(f"- {words}")
    if found.keys() != set(SECTIONS) or not any(found.values()):
        return None
    return _rendered(found)


def _rendered(found: Mapping[str, list[str]]) -> str:
    return "\n\n".join(f"## {name}\n\n" + "\n".join(found[name] or ["- nothing"]) for name in SECTIONS)


def _section(title: str) -> str:
    name = title.strip(" :*").capitalize()
    return name if name in SECTIONS else ""


def _words(text: str) -> str:
    """Return a line of a reply without its list mark, escaped once, even if the reply escaped it already."""
    stripped = _ITEM.sub("", text.strip(), count=1)
    return "" if stripped.startswith(("```", "~~~")) else escaped(bare(stripped))
