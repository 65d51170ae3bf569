"""Reads and writes `memory/<task>.md`: a section per run, an entry per iteration, editable by people.

kpd only ever appends. What people wrote, moved or struck out stays as they left it.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kpd.knowledge import entries
from kpd.knowledge.markdown import cut
from kpd.knowledge.memory_file import MemoryEntry, MemoryFile, read_notebook
from kpd.knowledge.summary import read_summary
from kpd.model.causes import IterationCause
from kpd.model.deployments import Lesson
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import Outcome
from kpd.text.foreign import escaped
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import read_words

PAST = 2_500
"""The most characters on earlier runs in a prompt: 1,000 tokens, about six entries. The rest is summarised."""
GUIDANCE = 2_000
_SECTION = re.compile(r"^## .*$", re.MULTILINE)
_LEFT_OUT = "(older entries are left out)"
_NOTHING: Mapping[str, float] = {}


def append(
    workspace: Workspace,
    run: Run,
    iteration: Iteration,
    outcome: Outcome,
    cause: IterationCause,
    before: Mapping[str, float] = _NOTHING,
    after: Mapping[str, float] = _NOTHING,
    arch: str = "",
    files: Sequence[str] = (),
) -> None:
    """Append an iteration's entry to its run's section; doing it again adds nothing. Raises OSError.

    A run of a comparison leaves nothing, here and in `overruled`: each of them begins with the same memory.

    `before` and `after` are the metrics of the iteration it was measured against and its own: with them the entry says
    what happened to the metric that was expected to move. `arch` is the device's architecture, such as "sm_90".
    `files` are the names of the changed files, see `entries.changes`.
    """
    if run.compared is not None:
        return
    lines = entries.measured(run, iteration, outcome, cause, before, after, files)
    _add(workspace, run.task, entries.heading(run, arch), entries.title(run, iteration), lines)


def overruled(
    workspace: Workspace, run: Run, chosen: Iteration, reason: str, at: float, arch: str = "", by_hand: bool = True
) -> None:
    """Record that a person, or kpd itself, made `chosen` the incumbent at `at` (Unix time), in place of that of `run`.

    Each iteration that this undoes or brings back gets an entry: rolled back, or chosen. Doing it again adds nothing.
    Raises OSError.
    """
    if run.compared is not None:
        return
    old = entries.lineage(run, run.incumbent)
    new = entries.lineage(run, chosen.number)
    for number in sorted(old ^ new):
        iteration, word = run.iteration(number), "chosen" if number in new else "rolled back"
        if iteration is None or iteration.outcome == "baseline":
            continue
        title = f"{entries.title(run, iteration)} · {word} {entries.when(at)}"
        _add(
            workspace,
            run.task,
            entries.heading(run, arch),
            title,
            (f"- {word}{' by hand' if by_hand else ''}: {escaped(reason) or '-'}",),
        )


def in_production(workspace: Workspace, run: Run, iteration: Iteration, word: Lesson, text: str, at: float) -> None:
    """Record what became of an iteration in a production program at `at` (Unix time); doing it again adds nothing.

    It stands below the heading that the run has in the memory already, where it has one. Raises OSError.
    """
    if run.compared is not None:
        return
    began = entries.when(iteration.started)
    known = [one.heading for one in notebook(workspace, run.task).entries if (one.run, one.began) == (run.id, began)]
    heading = f"## {known[0]}" if known and known[0] else entries.heading(run)
    title = f"{entries.title(run, iteration)} · {word} {entries.when(at)}"
    _add(workspace, run.task, heading, title, (f"- {word}: {escaped(text)}",))


def read(workspace: Workspace, task: str, limit: int) -> str:
    """Read the newest part of a task's memory, at most `limit` characters, cut between entries. Raises OSError."""
    text = _text(_path(workspace, task))
    if len(text) <= limit:
        return text
    newest = text[-limit:]
    found = re.search(r"^##", newest, re.MULTILINE)
    return f"{_LEFT_OUT}\n\n" + (newest[found.start() :] if found else newest)


def past(workspace: Workspace, task: str, run_id: str, limit: int = PAST, begun: float = 0.0) -> str:
    """Return what earlier runs of a task have left, at most `limit` characters; it does not change during a run.

    People's notes come first, then the summary in place of the entries that it stands for, then the newest entries in
    full. `begun` is when the run began (Unix time): an older section with its id belongs to another run, as ids start
    again when a workspace's log is deleted. Empty for a task without a memory. Raises OSError.
    """
    book, summary = notebook(workspace, task), read_summary(workspace, task)
    since = entries.when(begun)
    earlier = [
        entry for entry in book.entries if entry.at > summary.until and (entry.run != run_id or entry.began < since)
    ]
    parts = _ahead(book.notes, summary.body, limit)
    newest = fitting(earlier, book.notes, summary.body, limit)
    if len(newest) < len(earlier):
        parts.append(_LEFT_OUT)
    return cut("\n\n".join((*parts, *_under_headings(newest))), limit)


def fitting(found: Iterable[MemoryEntry], notes: str, brief: str, limit: int) -> list[MemoryEntry]:
    """Return the newest entries that a prompt of `limit` characters shows beside people's notes and a summary.

    They are in the order of time. Long entries, below which people may have written much, are cut. `brief` is the
    summary.
    """
    taken = sum(len(part) + 2 for part in _ahead(notes, brief, limit))
    cut_short = [replace(entry, text=cut(entry.text, limit // 3)) for entry in found]
    return _newest(cut_short, limit - taken - len(_LEFT_OUT) - 2)


def _ahead(notes: str, brief: str, limit: int) -> list[str]:
    """Return the parts that come before the entries."""
    parts = [cut(notes, limit // 4)]
    if brief:
        parts.append("Older runs in brief:\n\n" + cut(brief, limit // 2))
    return [part for part in parts if part]


def guidance(workspace: Workspace, task: str) -> tuple[str, str]:
    """Read what people wrote under `## Avoid` and `## Try` anywhere in the task's memory. Raises OSError."""
    book = notebook(workspace, task)
    return cut(book.avoid, GUIDANCE), cut(book.wanted, GUIDANCE)


def _newest(found: list[MemoryEntry], room: int) -> list[MemoryEntry]:
    """Return the newest entries that fit into `room` characters with the headings of their runs, oldest first."""
    kept: list[MemoryEntry] = []
    for entry in sorted(found, key=lambda entry: entry.at, reverse=True):
        above = 0 if kept and kept[-1].heading == entry.heading else len(f"## {entry.heading}\n\n")
        room -= len(entry.text) + 2 + above
        if room < 0:
            break
        kept.append(entry)
    return kept[::-1]


def _under_headings(found: list[MemoryEntry]) -> list[str]:
    told = ""
    parts = []
    for entry in found:
        if entry.heading != told:
            told = entry.heading
            parts += [f"## {told}"] if told else []
        parts.append(entry.text)
    return parts


def _path(workspace: Workspace, task: str) -> Path:
    return workspace.memory / f"{task}.md"


def _text(path: Path) -> str:
    return read_words(path) or ""


def notebook(workspace: Workspace, task: str) -> MemoryFile:
    """Read and parse a task's memory; empty when there is none. Raises OSError."""
    return read_notebook(_text(_path(workspace, task)))


def _add(workspace: Workspace, task: str, heading: str, title: str, lines: Iterable[str]) -> None:
    """Append an entry below its run's heading; the heading is repeated if another one stands in between."""
    path = _path(workspace, task)
    found = read_words(path)
    text = f"# What was tried on {task}\n" if found is None else found
    if f"\n{title}\n" in f"\n{text}\n":
        return
    added = text if found is None else ""
    added += "" if text.endswith("\n") else "\n"
    if _SECTION.findall(text)[-1:] != [heading]:
        added += f"\n{heading}\n"
    _append(path, (f"{added}\n{title}\n" + "\n".join(lines) + "\n").encode())


def _append(path: Path, data: bytes) -> None:
    """Append `data` in one write, even if others have the file open. A FIFO without a reader raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o644)
    with os.fdopen(descriptor, "ab", buffering=0) as file:
        written = file.write(data)
        if written != len(data):
            raise OSError(f"only {written} of {len(data)} bytes of {path.name} were written")
