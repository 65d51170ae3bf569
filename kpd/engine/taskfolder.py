"""The operator's task folder: it shows the incumbent, and an edit of it is a candidate. Decided by content alone."""

from dataclasses import dataclass
from pathlib import Path

from kpd.model.nouns import Run
from kpd.workspace.runfolder import digest, read_plain, write_atomic
from kpd.workspace.task import Task, task_files


class Conflict(Exception):
    """The folder holds an edit that kpd has not measured; writing would lose it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What a person changed: the editable files as they are now (empty when those are as known), and the names of the
    protected files that were changed, added or removed."""

    files: dict[str, bytes]
    protected: tuple[str, ...]


def hashes(files: dict[str, bytes]) -> dict[str, str]:
    return {path: digest(data) for path, data in files.items()}


def name_of(files: dict[str, str]) -> str:
    """A short name for a set of files by their content: the same edit has the same name."""
    return digest(repr(sorted(files.items())).encode())[:12]


def present(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The named files that are there now; a file that an editor is just replacing may be missing.

    Raises OSError for what is no regular file, too large, or may not be read.
    """
    found = {}
    for name in names:
        try:
            found[name] = read_plain(folder / name)
        except FileNotFoundError:
            continue
    return found


def edit_of(folder: Path, snapshot: Task, run: Run) -> Edit:
    """What differs from what kpd last knew of the folder, and from the protected files that the run began with.

    An editable file that is missing, or empty where it was not, is a save in progress and not an edit. Raises TaskError
    when the folder holds what no task may hold.
    """
    now = present(folder, snapshot.editable)
    may_be_empty = {path for path, data in present(snapshot.folder, snapshot.editable).items() if not data}
    complete = len(now) == len(snapshot.editable) and all(data or path in may_be_empty for path, data in now.items())
    others = tuple(name for name in task_files(folder) if name not in snapshot.editable)
    protected = hashes(present(folder, others))
    changed = (name for name in protected.keys() | run.pinned.keys() if protected.get(name) != run.pinned.get(name))
    return Edit(now if complete and hashes(now) != run.folder else {}, tuple(sorted(changed)))


def refuse_to_lose(folder: Path, files: dict[str, bytes], run: Run) -> None:
    """Raises Conflict when writing `files` would overwrite what kpd has not measured."""
    now = hashes(present(folder, tuple(files)))
    unmeasured = now if run.pending_edit else {path: it for path, it in now.items() if it != run.folder.get(path)}
    wanted = hashes(files)
    foreign = [path for path, it in unmeasured.items() if it != wanted[path] and it != run.files.get(path)]
    if foreign:
        raise Conflict(f"{folder.name}/{', '.join(foreign)} was edited since; that edit is measured first")


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Lay `files` over the folder, each by rename."""
    for path, data in files.items():
        write_atomic(folder / path, data)
