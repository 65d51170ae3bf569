"""The operator's task folder: it shows the incumbent, and an edit of it is a candidate. Decided by content alone."""

from dataclasses import dataclass
from pathlib import Path

from kpd.model.nouns import Run
from kpd.workspace.runfolder import digest, write_atomic
from kpd.workspace.task import Task


class Conflict(Exception):
    """The folder holds an edit that kpd has not measured; writing would lose it. The message shows both sides."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What differs from what kpd last knew: editable files by content, protected files by name."""

    files: dict[str, bytes]
    protected: tuple[str, ...]


def hashes(files: dict[str, bytes]) -> dict[str, str]:
    return {path: digest(data) for path, data in files.items()}


def present(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The named files that can be read now; a file that an editor is just replacing may be missing."""
    found = {}
    for name in names:
        try:
            found[name] = (folder / name).read_bytes()
        except OSError:
            continue
    return found


def edit_of(folder: Path, snapshot: Task, run: Run) -> Edit | None:
    """What the operator changed since kpd last knew the folder, or None.

    Missing or empty editable files are a save in progress, not an edit. `snapshot` is the task as the run began.
    """
    now = present(folder, snapshot.editable)
    complete = len(now) == len(snapshot.editable) and all(now.values())
    changed = complete and hashes(now) != run.folder
    was = present(snapshot.folder, snapshot.protected)
    protected = tuple(path for path, data in present(folder, snapshot.protected).items() if data != was.get(path))
    if not changed and set(protected) <= set(run.stale):
        return None
    return Edit(now if changed else {}, protected)


def write(folder: Path, files: dict[str, bytes], run: Run) -> None:
    """Lay `files` over the folder by rename. Raises Conflict when it holds something kpd has not recorded."""
    now = hashes(present(folder, tuple(files)))
    known = (run.folder, hashes(files))
    foreign = [path for path in files if path in now and all(now[path] != side.get(path) for side in known)]
    if foreign:
        names = ", ".join(foreign)
        raise Conflict(f"{folder.name}/{names} was edited since; that edit is measured first")
    for path, data in files.items():
        write_atomic(folder / path, data)
