"""Reads an iteration's files as text: only inside its folder, limited in size."""

import difflib
import stat
from collections.abc import Iterator
from pathlib import Path

from kpd.wire import DaemonError
from kpd.workspace.paths import OutsideFolder, inside

MOST_TEXT = 1024 * 1024  # bytes of one file that are shown
MOST_DIFFED = 256 * 1024  # bytes of one file that are compared: difflib is slow


def text(folder: Path, name: str, most: int = MOST_TEXT) -> tuple[str, bool]:
    """Read the file `name` of `folder`, up to `most` bytes; return it as text, and whether it had more.

    Raises DaemonError (usage, no_file, infra).
    """
    try:
        path = inside(folder, name)
    except OutsideFolder as err:
        raise DaemonError("usage", f"not a file of this iteration: {err}") from err
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise DaemonError("usage", f"{name} is not a file")
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except FileNotFoundError as err:
        raise DaemonError("no_file", f"there is no {name} in {folder}", _held(folder)) from err
    except OSError as err:
        raise DaemonError("infra", f"cannot read {path}: {err.strerror}") from err
    return raw[:most].decode(errors="replace"), len(raw) > most


def difference(before: Path, after: Path, before_name: str, after_name: str) -> str:
    """Return a unified diff of two folders of candidate files. Raises DaemonError, also where a folder is missing."""
    for folder, name in ((before, before_name), (after, after_name)):
        if not folder.is_dir():
            remedy = "put it back if it was moved away; an iteration that has proposed nothing never had one"
            raise DaemonError("unknown", f"the files of {name} are not there: no folder {folder}", remedy)
    names = sorted({*_names(before), *_names(after)})
    return "".join(line for name in names for line in _compare(before, after, name, before_name, after_name))


def _compare(before: Path, after: Path, name: str, before_name: str, after_name: str) -> Iterator[str]:
    old, old_cut = text(before, name, MOST_DIFFED) if (before / name).is_file() else ("", False)
    new, new_cut = text(after, name, MOST_DIFFED) if (after / name).is_file() else ("", False)
    if old_cut or new_cut:
        yield f"{name}: too large to compare\n"
        return
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"{before_name}/{name}", f"{after_name}/{name}"
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _names(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix()


def _held(folder: Path) -> str:
    names = sorted(_names(folder))[:12]
    return f"it holds {', '.join(names)}" if names else "the folder is empty or gone"
