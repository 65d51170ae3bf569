"""Generates `memory/PATTERNS.md`: what was tried on all tasks, by finding and architecture."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from kpd.knowledge.memory import notebook
from kpd.knowledge.memory_file import MemoryEntry
from kpd.text.foreign import bare, escaped
from kpd.text.gains import brief
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import read_words, write_atomic
from kpd.workspace.task import NAME

MARK = "<!-- Written by kpd from the memories of all tasks, again and again: edit those, not this. -->"
MOST = 6
"""The most lines in a section: of accepted candidates those with the largest gains, of the others the newest."""
MATCHING = 4
LONGEST_MEMO, LONGEST_FILES = 160, 80
KEPT = ("accepted", "accepted by hand", "deployed")
_WORDS = (*KEPT, "near miss", "short circuit", "rolled back", "rolled back in production", "no gain", "failed")
UNDECIDED = ("undecided", "inconclusive")
"""The lessons of verdicts that nothing can be learned from; the second is an older kpd's word."""
_LINE = re.compile(r"- .* \((\S+) r\d+\.\d+\)")


@dataclass(frozen=True, slots=True)
class TriedIteration:
    """One iteration that aimed at something. `word` is one of `_WORDS`.

    `gain` is in percent of time saved, None where nothing was measured. `at` is when it began, as text that sorts.
    `files` names what it changed, empty where its task has one file.
    """

    name: str
    word: str
    gain: float | None
    memo: str
    arch: str
    rules: tuple[str, ...]
    at: str
    files: str = ""

    def line(self) -> str:
        gain = "" if self.gain is None else f", {brief(self.gain)}"
        where = f"; in {escaped(self.files, LONGEST_FILES)}" if self.files else ""
        return f"- {self.word}{gain}: {escaped(self.memo, LONGEST_MEMO)}{where} ({escaped(self.name)})"


def regenerate(workspace: Workspace) -> bool:
    """Write PATTERNS.md anew if its content changes, and return whether it was written. Raises OSError.

    A file of that name whose first line is not kpd's belongs to a person, and stays.
    """
    path = _path(workspace)
    before = read_words(path)
    if before is not None and before.partition("\n")[0] != MARK:
        return False
    found = [one for task in _tasks(workspace) for one in tried(workspace, task)]
    after = _rendered(found)
    if after == before or (before is None and not found):
        return False
    write_atomic(path, after)
    return True


def matching(workspace: Workspace, rules: Iterable[str], arch: str, limit: int, besides: str = "") -> str:
    """Return what PATTERNS.md says of `rules`, in their order, at most `limit` characters and a few lines per rule.

    Lines of `arch` come first. `besides` is a task whose own patterns are left out, as its memory is shown anyway.
    Raises OSError.
    """
    sections = _sections(read_words(_path(workspace)) or "")
    told: list[str] = []
    for rule in dict.fromkeys(rules):
        found = sections.get(rule, ())
        others = [f"{line} on {escaped(there)}" for there, line in found if there != arch and _task(line) != besides]
        own = [line for there, line in found if there == arch and _task(line) != besides]
        if chosen := (own + others)[:MATCHING]:
            told += [f"{rule}:", *chosen]
    return _whole(told, limit)


def tried(workspace: Workspace, task: str) -> Iterator[TriedIteration]:
    """Yield the iterations in a task's memory that aimed at a finding and came to an end. Raises OSError."""
    found = notebook(workspace, task).entries
    decided = {(entry.run, entry.number, entry.began): entry.decided for entry in found if entry.decided}
    for entry in found:
        rules = tuple(filter(None, entry.line("aimed at").split(", ")))
        word = _word(entry, decided.get((entry.run, entry.number, entry.began), ""))
        if not entry.decided and rules and word:
            name = f"{task} {entry.run}.{entry.number}"
            arch, files = _arch(entry.heading), entry.line("files")
            yield TriedIteration(name, word, entry.gain, entry.line("memo"), arch, rules, entry.began, files)


def _word(entry: MemoryEntry, decided: str) -> str:
    """Return what became of the iteration; empty if nothing can be learned from it.

    It was skipped, interrupted or lost to the infrastructure, or its gain could not be told apart from code layout. Nor
    can anything be learned from a success whose results nothing checks.
    """
    if decided:
        return "accepted by hand" if decided == "chosen" else decided
    word, by_hand = entry.outcome
    if by_hand:
        return "accepted by hand"
    if word == "rejected" and entry.lesson in UNDECIDED:
        return ""
    if word == "accepted" and entry.line("unchecked"):
        return ""
    if word == "rejected":
        return "failed" if entry.gain is None else "near miss" if entry.lesson == "near_miss" else "no gain"
    return word if word in ("accepted", "failed") else ""


def _arch(heading: str) -> str:
    """Return the architecture in a run's heading, or its device when the heading names no architecture."""
    where, *arch = bare(heading).split(" · ")[2:] or ("unknown",)
    return arch[0] if arch else where.partition("/")[2] or where


def _rendered(found: Iterable[TriedIteration]) -> str:
    by_rule: defaultdict[str, defaultdict[str, list[TriedIteration]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        for rule in one.rules:
            by_rule[rule][one.arch].append(one)
    parts = [MARK, "# What was tried, by the finding it aimed at"]
    for rule, by_arch in sorted(by_rule.items()):
        counts = Counter(one.word for one in chain.from_iterable(by_arch.values()))
        parts += [f"## {escaped(rule)}", ", ".join(f"{word} {counts[word]}" for word in _WORDS if counts[word])]
        for arch, those in sorted(by_arch.items()):
            parts += [f"### {escaped(arch)}", "\n".join(one.line() for one in _telling(those))]
    return "\n\n".join(parts) + "\n"


def _telling(those: list[TriedIteration]) -> list[TriedIteration]:
    newest = sorted(those, key=lambda one: (one.at, one.name), reverse=True)
    kept = sorted((one for one in newest if one.word in KEPT), key=lambda one: -(one.gain or 0.0))
    return kept[:MOST] + [one for one in newest if one.word not in KEPT][:MOST]


def _sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """Parse the file: for each rule, its lines with their architectures."""
    found: dict[str, list[tuple[str, str]]] = {}
    rule = arch = ""
    for line in text.split("\n"):
        if line.startswith("## "):
            rule = bare(line[3:])
        elif line.startswith("### "):
            arch = bare(line[4:])
        elif rule and arch and _LINE.fullmatch(line):
            found.setdefault(rule, []).append((arch, line))
    return found


def _task(line: str) -> str:
    found = _LINE.fullmatch(line)
    return bare(found[1]) if found else ""


def _whole(lines: list[str], limit: int) -> str:
    """Join as many whole lines as fit, without a heading that has no line below it."""
    kept: list[str] = []
    for line in lines:
        limit -= len(line) + 1
        if limit < 0:
            break
        kept.append(line)
    if kept and not kept[-1].startswith("- "):
        kept.pop()
    return "\n".join(kept)


def _tasks(workspace: Workspace) -> list[str]:
    """Return the tasks that have a memory; a summary or a README is not one."""
    own = ("README", _path(workspace).stem)
    files = (path for path in workspace.memory.glob("*.md") if path.is_file())
    return sorted(path.stem for path in files if NAME.fullmatch(path.stem) and path.stem not in own)


def _path(workspace: Workspace) -> Path:
    return workspace.memory / "PATTERNS.md"
