"""Shows the incumbent's files in a prompt so that as little as possible of them changes, for the cache's sake.

A file is shown whole in the cached part. When a new incumbent differs only in some lines in the same places (a
constant, a pragma, a point that a sweep found), the cached part keeps the file as it was first shown, and the user's
turn lists how those lines read now. That costs a tenth of showing the file again, and shows what has helped. After any
other change the file is shown again.

What was shown follows from the run: its incumbents, in order, as the agent's iterations started from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from kpd.agents.agent import Context
from kpd.workspace.paths import OutsideFolder
from kpd.workspace.run_files import IterationFolder
from kpd.workspace.sections import SectionError, split
from kpd.workspace.task import Task

MOST_LINES = 8
MOST_SHARE = 0.1
"""Lines of a file that differ, in number and as a share of all."""

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Anchored:
    """How the incumbent's files are shown: `files` as shown, `since` the iteration that each was taken from.

    `lines` are those that read otherwise now. `anew` is the first iteration that was asked with these files: from it
    on, the cache may have them.
    """

    files: dict[str, bytes]
    since: dict[str, int]
    lines: dict[str, dict[int, str]]
    anew: int


def anchored(context: Context) -> Anchored:
    """Decide how the incumbent of this iteration is shown."""
    files: dict[str, bytes] = {}
    since: dict[str, int] = {}
    lines: dict[str, dict[int, str]] = {}
    anew = context.number
    for asked, number, incumbent in _incumbents(context):
        for path in files.keys() - incumbent.keys():
            del files[path], since[path], lines[path]
            anew = asked
        for path, data in incumbent.items():
            found = differing(files[path], data) if path in files else None
            if found is None:
                files[path], since[path], anew = data, number, asked
            lines[path] = found or {}
    return Anchored(files, since, {path: found for path, found in lines.items() if found}, anew)


def differing(before: bytes, after: bytes) -> dict[int, str] | None:
    """Return the lines of `after`, by number from 1 on, that differ from the same lines of `before`.

    None where the number of lines is not the same, where too many differ, or where a file is not text.
    """
    if before == after:
        return {}
    try:
        old, new = before.decode().split("\n"), after.decode().split("\n")
    except UnicodeDecodeError:
        return None
    found = {at: line for at, (was, line) in enumerate(zip(old, new, strict=False), 1) if was != line}
    few = len(found) <= min(MOST_LINES, MOST_SHARE * len(old))
    return found if few and len(old) == len(new) else None


def parent_of(context: Context) -> int:
    """Return the iteration that this one starts from."""
    now = context.run.iteration(context.number)
    return now.parent if now is not None else context.run.incumbent or 0


def _incumbents(context: Context) -> list[tuple[int, int, Files]]:
    """Return the incumbents that the same agent's iterations started from, in order.

    Each is (the first iteration that was asked with it, its own number, its files).
    """
    run, now = context.run, context.run.iteration(context.number)
    asked = [
        (it.number, it.parent)
        for it in run.iterations
        if it.number < context.number and it.parent != it.number and (now is None or it.agent == now.agent)
    ]
    asked.append((context.number, parent_of(context)))
    changes = [next(same) for _, same in groupby(asked, key=lambda each: each[1])]
    first, last = changes.pop()
    return [*_read(context, changes), (first, last, yours(context.task, context.incumbent))]


def _read(context: Context, changes: list[tuple[int, int]]) -> list[tuple[int, int, Files]]:
    """Read the files of these incumbents.

    Where one can no longer be read, those before it are left out, too.
    """
    found: list[tuple[int, int, Files]] = []
    for asked, number in changes:
        folder = context.workspace.iteration_folder(context.run.task, context.run.id, number)
        try:
            files = IterationFolder(folder).read_candidate()
        except (OSError, OutsideFolder):
            found.clear()
        else:
            found.append((asked, number, yours(context.task, files)))
    return found


def yours(task: Task, files: Files) -> Files:
    """Reduce a file in sections to its kernel section; the file stays whole where its section marks are wrong."""
    try:
        return {path: split(data).kernel if path == task.sectioned else data for path, data in files.items()}
    except SectionError:
        return files


def around(task: Task, files: Files) -> str:
    """Return the text around the one section that may change, in a task with its own benchmark; empty without one."""
    try:
        whole = split(files[task.sectioned]) if task.sectioned and task.bench.command is not None else None
    except SectionError:
        return ""
    return (whole.before + whole.after).decode(errors="replace") if whole is not None else ""
