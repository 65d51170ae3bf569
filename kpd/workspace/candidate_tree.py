"""Reads a candidate's files from a folder, in which a person or a program may have put anything."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from kpd.workspace.editable import DEEPEST, LONGEST_PATH, ignored, is_plain, leads_to
from kpd.workspace.records import is_record
from kpd.workspace.run_files import NotRegularFile, read_plain
from kpd.workspace.task import MOST_FILES, Task, TaskError

CANDIDATE_BYTES = 1 << 20
"""The most bytes of all files of a candidate together."""
MOST_FOLDERS = 2000
"""The most folders that are searched."""
MOST_REFUSED = 100
"""The most paths that `refused` lists."""


def read_tree(folder: Path, task: Task) -> dict[str, bytes]:
    """Read every file below `folder` that the task lets a candidate have, sorted by path; missing ones are left out.

    So are those that somebody removes meanwhile.

    Hidden files and editors' backups do not count. No link is followed, and nothing opened that could block. Raises
    TaskError, which names the file and the remedy: for a link, a socket or another special file among the editable
    files, a name that tools trip over, too many or too large files. Raises OSError.
    """
    found: dict[str, bytes] = {}
    left = CANDIDATE_BYTES
    named = {path.rpartition("/")[0] for path in task.editable}
    above = {".", *(part for path in named for part in _chain(path))}

    def wanted(at: str) -> bool:
        return at in above or any(leads_to(area, at) for area in task.areas)

    for path, name, within in _walk(folder, wanted):
        if task.allows(path):
            if len(found) == MOST_FILES:
                raise TaskError(folder, 0, f"more than {MOST_FILES} editable files", "keep data and builds elsewhere")
            with suppress(FileNotFoundError):
                found[path] = _read(folder / path, name, within, left)
                left -= len(found[path])
        elif task.in_area(path) and not is_plain(path):
            what = f"a file named {ascii(path)[:LONGEST_PATH]} among the editable ones"
            raise TaskError(folder, 0, what, "use short names of letters, digits, . _ + and -")
    return dict(sorted(found.items()))


def refused(folder: Path, task: Task) -> tuple[str, ...]:
    """List what was changed, added or removed below `folder`, a copy of the task's, outside of its editable files.

    Records do not count: nobody reads them. At most MOST_REFUSED paths, sorted. A link counts as its target's name.
    Raises OSError.
    """
    found: list[str] = []
    there = set()
    for path, name, within in _walk(folder, lambda at: True):
        there.add(path)
        if is_record(task.records, path):
            continue
        if not task.allows(path) and not (path in task.protected and _same(task.folder / path, name, within)):
            found.append(path)
        if len(found) == MOST_REFUSED:
            return tuple(sorted(found))
    return tuple(sorted({*found, *(set(task.protected) - there)}))[:MOST_REFUSED]


def _walk(folder: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, int]]:
    """Yield the path and the name of all but folders, with a descriptor of the folder that holds it.

    Enters only folders that are `wanted`; a link to a folder is yielded like a file, and so is a folder that lies too
    deep. Raises TaskError where there are too many folders, and OSError.
    """

    def trouble(err: OSError) -> None:
        if not isinstance(err, FileNotFoundError):  # somebody has removed it meanwhile
            raise err

    for count, (at, folders, names, within) in enumerate(os.fwalk(folder, onerror=trouble)):
        if count == MOST_FOLDERS:
            raise TaskError(folder, 0, f"more than {MOST_FOLDERS} folders", "keep data and builds elsewhere")
        here = "" if Path(at) == folder else f"{Path(at).relative_to(folder).as_posix()}/"
        entered, whole = [], list(names)
        for name in sorted(folders):
            if _is_link(name, within) or here.count("/") >= DEEPEST:
                whole.append(name)
            elif not ignored(name) and wanted(f"{here}{name}"):
                entered.append(name)
        folders[:] = entered
        yield from ((f"{here}{name}", name, within) for name in sorted(whole) if not ignored(name))


def _is_link(name: str, within: int) -> bool:
    """Return whether this is a link; what somebody has removed meanwhile is none."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _read(path: Path, name: str, within: int, most: int) -> bytes:
    try:
        return read_plain(Path(name), most, within)
    except NotRegularFile as err:
        if err.errno == errno.EFBIG:
            what = f"the editable files have more than {CANDIDATE_BYTES >> 20} MiB"
            raise TaskError(path, 0, what, "keep data elsewhere") from err
        raise TaskError(path, 0, "not a regular file", "only plain files can be a candidate's") from err
    except OSError as err:
        if err.errno == errno.ELOOP:
            raise TaskError(path, 0, "a link among the editable files", "put the file itself there") from err
        if err.errno == errno.ENXIO:
            raise TaskError(path, 0, "not a regular file", "only plain files can be a candidate's") from err
        raise


def _same(original: Path, name: str, within: int) -> bool:
    """Return whether the file `name` holds what the task's own does. Raises OSError."""
    if original.is_symlink():
        try:
            return os.readlink(name, dir_fd=within) == str(original.readlink())
        except OSError:
            return False
    try:
        return read_plain(Path(name), within=within) == original.read_bytes()
    except OSError:  # a link, or no plain file, is put in its place
        return False


def _chain(folder: str) -> Iterator[str]:
    parts = folder.split("/")
    yield from ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
