"""Checks paths, names and folders before they are used."""

import contextlib
import errno
import os
import re
import shutil
import stat
import traceback
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RequestRefused(Exception):
    """An error to answer with: a kind that the near side knows (see `kpd.hosts.errors`) and a sentence."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def trouble(err: Exception) -> "dict[str, str]":
    """Return the error reply for an exception of a request: its kind and a message.

    For an exception that is not expected, the message says where it was raised.
    """
    if isinstance(err, RequestRefused):
        return {"kind": err.kind, "message": err.message}
    if isinstance(err, OSError):
        kind = "no_space" if err.errno in FULL else "not_found" if err.errno == errno.ENOENT else "host"
        return {"kind": kind, "message": str(err)}
    *_, (frame, line) = traceback.walk_tb(err.__traceback__)
    where = f"{frame.f_globals['__name__']}, line {line}, in {frame.f_code.co_name}"
    return {"kind": "host", "message": f"{type(err).__name__}: {err} ({where})"}


def is_job(name: str) -> bool:
    """Return whether `name` can be a job's id. No id begins with a dot, so none is `.` or `..`."""
    return re.match(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\Z", name) is not None


def check_job(name: str) -> str:
    if not is_job(name):
        raise RequestRefused("refused", f"{name!r} is not a job id")
    return name


def check_sha(sha: str) -> str:
    if not re.match(r"[0-9a-f]{64}\Z", sha):
        raise RequestRefused("refused", f"{sha!r} is not a sha256")
    return sha


def check_relative(name: str) -> str:
    """Return `name` if it is a plain path relative to a folder. Raises RequestRefused for anything else."""
    with contextlib.suppress(UnicodeEncodeError):  # the host's locale cannot write it
        if b"\0" not in os.fsencode(name) and not any(part in ("", ".", "..") for part in name.split("/")):
            return name
    raise RequestRefused("refused", f"{name!r} is not a plain relative path")


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a file that does not exist yet. Raises OSError, FileExistsError if it does."""
    descriptor = os.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def remove(folder: Path) -> None:
    """Remove a whole folder, read-only parts included. A missing folder is no error; a link itself is removed."""
    with contextlib.suppress(FileNotFoundError):
        if folder.is_symlink():
            folder.unlink()
            return
        let_owner_in(folder)
        shutil.rmtree(str(folder))


def let_owner_in(folder: Path) -> None:
    """Let the owner of a folder change all in it: where a folder is read-only, `rm -rf` fails. Raises OSError."""
    folder.chmod(0o700)
    for at, folders, _ in os.walk(str(folder)):
        for name in folders:
            path = Path(at, name)
            if not path.is_symlink() and path.stat().st_mode & stat.S_IRWXU != stat.S_IRWXU:
                path.chmod(0o700)
