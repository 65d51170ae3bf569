"""Explains errors of the system about files, and looks how much of the disk is used."""

import contextlib
import errno
import os
import shutil
from pathlib import Path

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
LEAST_FREE = 1 << 20
"""Bytes that a disk has free if something there did not fail for want of space."""


def is_full(folder: Path) -> bool:
    """Return whether the disk of a folder is full, or so nearly that this explains a failure; False if unknown."""
    try:
        return shutil.disk_usage(folder).free < LEAST_FREE
    except OSError:
        return False


def explained(err: OSError, what: str, remedy: str) -> tuple[str, str]:
    """Return what is wrong, and what to do about it: `remedy`, unless the disk is full, which is named as such.

    `what` stands in for the path where the error has none. Of a tree that was copied the first error counts.
    """
    path, said, full = err.filename or what, err.strerror or str(err), err.errno in FULL
    if err.args and isinstance(err.args[0], list) and err.args[0]:  # of shutil.copytree: (source, copy, words)
        _, path, said = err.args[0][0]
        full = any(f"[Errno {number}]" in said for number in FULL)
    return (f"no space left on the disk of {path}", "free some space there") if full else (f"{path}: {said}", remedy)


def taken(folder: Path) -> int:
    """Return the bytes on disk of all files below a folder; what vanishes meanwhile does not count."""
    found = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                found += Path(root, name).lstat().st_blocks * 512
    return found


def removed(folder: Path) -> int:
    """Remove a folder with all that is in it, if it is there; return the bytes on disk that it had. Raises OSError.

    So are folders that a program has closed to others, and to itself.
    """
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return 0
    folder.chmod(0o700)
    for at, folders, _ in os.walk(folder):
        for path in (Path(at) / name for name in folders):
            if not path.is_symlink():
                path.chmod(0o700)
    size = taken(folder)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
    return size


def used(folder: Path, most_bytes: int, most_files: int) -> tuple[int, int]:
    """Return the bytes on disk and the number of files below a folder; links are not followed.

    It stops beyond `most_bytes` or `most_files`. Folders so deep that they cannot be named count as too many files.
    This raises nothing.
    """
    size = files = 0
    left = [str(folder)]
    while left and files <= most_files and size <= most_bytes:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    files += 1
                    if files > most_files or size > most_bytes:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    with contextlib.suppress(FileNotFoundError):  # it has just been removed
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError as err:  # it has just been removed, or is closed
            files = most_files + 1 if err.errno == errno.ENAMETOOLONG else files
    return size, files
