"""Writes files atomically, and identifies them by content."""

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kpd.workspace.paths import inside

MOST_BYTES = 16 << 20
"""The most that a file of a task may have."""


class NotRegularFile(OSError):
    """The error that a path is no regular file, or one larger than its reader accepts; `strerror` says which."""

    strerror: str


def digest(data: bytes) -> str:
    """Return the sha256 of `data` in hex, which identifies a file in events and in a host's content store."""
    return hashlib.sha256(data).hexdigest()


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write `data` under a hidden temporary name beside `path` and rename it: a reader sees all of it or nothing.

    Does not call fsync: only the event log must survive a power cut, and SQLite flushes that. An existing file keeps
    its mode. Raises OSError.
    """
    raw = data.encode() if isinstance(data, str) else data
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(raw)
        Path(temporary).chmod(_mode(path))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_plain(path: Path, most: int = MOST_BYTES, within: int | None = None) -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    `within` is a descriptor of its folder, if `path` is a name in that: then a link is not followed. Raises
    NotRegularFile where it is larger or no regular file (to read a FIFO or a device could block or never end), and
    OSError.
    """
    link = os.O_NOFOLLOW if within is not None else 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | link, dir_fd=within)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularFile(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(descriptor)
    if len(content) > most:
        size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"
        raise NotRegularFile(errno.EFBIG, f"larger than {size}", str(path))
    return content


def read_words(path: Path) -> str | None:
    """Read a text file that people may edit; None where there is none.

    Bytes that are not UTF-8 are replaced, and all line ends become LF. Raises NotRegularFile, OSError.
    """
    try:
        text = read_plain(path).decode(errors="replace")
    except FileNotFoundError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o644


def read_files(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Read each named file of `folder`. Raises OSError, and OutsideFolder for a path that leaves the folder."""
    return {name: inside(folder, name).read_bytes() for name in names}


def files_below(folder: Path) -> tuple[str, ...]:
    """Return the paths of all files below a folder of kpd's own, without temporary ones, sorted."""
    found = (path for path in folder.rglob("*") if not path.is_dir() and not path.name.startswith("."))
    return tuple(sorted(path.relative_to(folder).as_posix() for path in found))


def write_tree(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make `files` all that a folder of kpd's own holds. Raises OutsideFolder, OSError."""
    for path in files_below(folder):
        if path not in files:
            remove_file(folder, path)
    for path, data in files.items():
        write_atomic(inside(folder, path), data)


def remove_file(folder: Path, path: str, stay: Collection[str] = ()) -> None:
    """Remove a file of `folder`, if it is there, and the folders that it leaves empty, but for those that `stay`.

    A folder that somebody has put in its place stays. Raises OutsideFolder, OSError.
    """
    gone = inside(folder, path)
    if gone.is_symlink() or not gone.is_dir():
        with suppress(NotADirectoryError):  # a file in place of a folder above it: then it is gone, too
            gone.unlink(missing_ok=True)
    above = gone.parent
    while above != folder and above.relative_to(folder).as_posix() not in stay and above.is_dir():
        if any(above.iterdir()):
            return
        above.rmdir()
        above = above.parent


@dataclass(frozen=True, slots=True)
class IterationFolder:
    """runs/<task>/<run>/iter_NNNN: the candidate and what each step found, as files that people can open."""

    folder: Path

    @property
    def candidate(self) -> Path:
        return self.folder / "candidate"

    def write(self, name: str, data: bytes | str) -> None:
        """Write one file of the iteration (memo.md, timing.json, …). Raises OutsideFolder, OSError."""
        write_atomic(inside(self.folder, name), data)

    def read(self, name: str) -> bytes:
        """Read one file of the iteration. Raises OutsideFolder, OSError."""
        return inside(self.folder, name).read_bytes()

    def write_candidate(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Make these the candidate's files; return the sha256 of each by its path. Raises OutsideFolder, OSError."""
        write_tree(self.candidate, files)
        return {name: digest(data) for name, data in files.items()}

    def read_candidate(self) -> dict[str, bytes]:
        """Read all files of the candidate, by path. Raises OutsideFolder, OSError, also where there is none."""
        if not (names := files_below(self.candidate)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.candidate))
        return read_files(self.candidate, names)
