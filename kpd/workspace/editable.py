"""Decides which files of a task an agent may change: what the entries of `editable` in task.toml mean.

An entry is a file (`kernel.c`) or an *area*: a folder (`src/`, all that is below it) or a glob (`src/**/*.cuh`). In a
glob `*` and `?` stay within one name, `**` is any number of folders. In an area an agent may also add and remove files.
"""

import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from kpd.workspace.paths import OutsideFolder, inside

PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*")
"""A path that no tool trips over, and that looks like no other: ASCII letters, digits, . _ + and -."""
_GLOB = re.compile(r"[A-Za-z0-9._+*?/-]+")
LONGEST_PATH, DEEPEST = 200, 12
"""The most characters and the most names of an editable file's path."""
IGNORED = (".*", "*~", "#*#", "*.orig", "*.bak", "*.tmp", "__pycache__")


class BadEditable(ValueError):
    """The error that an entry of `editable` is refused; `remedy` says what to write instead."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def ignored(name: str) -> bool:
    """Return whether a file or folder of this name does not belong to a task: hidden, or an editor's backup."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in IGNORED)


def is_plain(path: str) -> bool:
    """Return whether an editable file may have this path."""
    parts = path.split("/")
    short = len(path) <= LONGEST_PATH and len(parts) <= DEEPEST
    return short and PLAIN.fullmatch(path) is not None and not any(map(ignored, parts))


def is_area(entry: str) -> bool:
    return entry.endswith("/") or any(char in entry for char in "*?")


def covers(area: str, path: str) -> bool:
    """Return whether the file `path` lies in the area."""
    return _fits(area_pattern(area), path.split("/"))


def leads_to(area: str, folder: str) -> bool:
    """Return whether a file of the area may lie below `folder`, a path within the task, or "." for the task itself."""
    pattern = area_pattern(area)
    for name in folder.split("/") if folder != "." else ():
        if not pattern or pattern[0] == "**":
            return bool(pattern)
        if not fnmatch.fnmatchcase(name, pattern[0]):
            return False
        pattern = pattern[1:]
    return bool(pattern)


def clash(added: Iterable[str], all: Iterable[str]) -> tuple[str, str] | None:
    """Return an added path and one of `all` that cannot be files of one folder everywhere; None where there are none.

    One is a folder of the other, or they differ only in capital letters, which some file systems do not tell apart.
    """
    known = [(f"{path.lower()}/", path) for path in all]
    for path in added:
        own = f"{path.lower()}/"
        for low, other in known:
            if other != path and (low.startswith(own) or own.startswith(low)):
                return path, other
    return None


def chosen(
    folder: Path, entries: tuple[str, ...], files: Iterable[str], judges: Collection[str], may_lack: bool = False
) -> tuple[str, ...]:
    """Return the editable files of a task, in the order of the entries. Raises BadEditable.

    `files` are all files of the task; they are asked for only where an entry is an area. `judges` are never editable:
    an area leaves them out. With `may_lack` the files that are named need not be there, and are left out.
    """
    for entry in entries:
        if entries.count(entry) > 1:
            raise BadEditable(f"editable file {entry!r} appears twice", "name it once")
        if is_area(entry):
            _refuse_area(folder, entry)
        else:
            _refuse_named(folder, entry, judges, may_lack)
    all = [name for name in files if name not in judges] if any(map(is_area, entries)) else []
    found: dict[str, None] = {}
    for entry in entries:
        found |= dict.fromkeys(_of_area(folder, entry, all) if is_area(entry) else _named(folder, entry))
    if not found and not may_lack:
        raise BadEditable("no file of the task is editable", "put the file to improve into one of these places")
    return tuple(found)


def _named(folder: Path, name: str) -> tuple[str, ...]:
    return (name,) if (folder / name).exists() else ()


def _refuse_named(folder: Path, name: str, judges: Collection[str], may_lack: bool) -> None:
    try:
        path = inside(folder, name)
    except OutsideFolder as err:
        raise BadEditable(f"editable path {err}", "name a file inside the task's folder") from err
    if name in judges:
        raise BadEditable(f"editable file {name!r} judges the candidate", "leave it out: it is always protected")
    if not is_plain(name):
        raise BadEditable(f"editable file {name!r} has a name that tools trip over", "use letters, digits, . _ + and -")
    if not path.exists():
        if may_lack:
            return
        raise BadEditable(f"editable file {name!r} does not exist", "create it, or correct its name")
    if not path.is_file():
        remedy = f"for a folder write {name + '/'!r}" if path.is_dir() else "name files, folders or globs"
        raise BadEditable(f"editable file {name!r} is not a regular file", remedy)


def _refuse_area(folder: Path, area: str) -> None:
    base = area.rstrip("/")
    try:
        path = inside(folder, base)
    except OutsideFolder as err:
        raise BadEditable(f"editable path {err}", "name a folder or a glob inside the task's folder") from err
    if not _GLOB.fullmatch(area) or any(ignored(part) or ("**" in part and part != "**") for part in base.split("/")):
        raise BadEditable(f"editable {area!r} cannot be read", "write a folder as 'src/', or a glob as 'src/**/*.h'")
    if area.endswith("/") and not path.is_dir():
        raise BadEditable(f"editable folder {area!r} does not exist", "create it, or correct its name")


def _of_area(folder: Path, area: str, files: Iterable[str]) -> Iterator[str]:
    for name in files:
        if covers(area, name):
            try:
                inside(folder, name)
            except OutsideFolder as err:
                raise BadEditable(f"{err}, and {area!r} is editable", "put the file itself there") from err
            if not is_plain(name):
                message = f"editable file {name!r} in {area!r} has a name that tools trip over"
                raise BadEditable(message, "use letters, digits, . _ + and -")
            yield name


def area_pattern(area: str) -> list[str]:
    """Return an entry as a list of names, each perhaps a glob; `**` is any number of folders."""
    parts = area.rstrip("/").split("/")
    return [*parts, "**", "*"] if area.endswith("/") else [*parts, "*"] if parts[-1] == "**" else parts


def _fits(pattern: list[str], names: list[str]) -> bool:
    if not pattern or not names:
        return not pattern and not names
    if pattern[0] == "**":
        return _fits(pattern[1:], names) or _fits(pattern, names[1:])
    return fnmatch.fnmatchcase(names[0], pattern[0]) and _fits(pattern[1:], names[1:])
