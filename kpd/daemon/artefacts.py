"""Reads an iteration's files as text: only inside its folder, limited in size."""

import stat
from collections.abc import Iterator
from pathlib import Path

from kpd.text.patches import patch
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
    old, new = ({name: text(folder, name, MOST_DIFFED) for name in _names(folder)} for folder in (before, after))
    large = {name for side in (old, new) for name, (_, cut) in side.items() if cut}
    was, now = ({name: found for name, (found, _) in side.items() if name not in large} for side in (old, new))
    lines = [f"{name}: too large to compare\n" for name in sorted(large)]
    return "".join([*patch(was, now, before_name, after_name), *lines])


def _names(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix()


def _held(folder: Path) -> str:
    names = sorted(_names(folder))[:12]
    return f"it holds {', '.join(names)}" if names else "the folder is empty or gone"
