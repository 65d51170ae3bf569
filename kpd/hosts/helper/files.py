"""Paths, names and folders, checked before they are used."""

import contextlib
import os
import re
import shutil
from pathlib import Path


class Refused(Exception):
    """An error to answer with: a kind that the near side knows (see `kpd.hosts.errors`) and a sentence."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def is_job(name: str) -> bool:
    """Whether this can be a job's id. None begins with a dot, so none is `.` or `..`."""
    return re.match(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\Z", name) is not None


def check_job(name: str) -> str:
    if not is_job(name):
        raise Refused("refused", f"{name!r} is not a job id")
    return name


def check_sha(sha: str) -> str:
    if not re.match(r"[0-9a-f]{64}\Z", sha):
        raise Refused("refused", f"{sha!r} is not a sha256")
    return sha


def check_relative(name: str) -> str:
    """A path below the folder it will be joined to, spelled plainly; anything else is refused."""
    with contextlib.suppress(UnicodeEncodeError):  # the host's locale cannot write it
        if b"\0" not in os.fsencode(name) and not any(part in ("", ".", "..") for part in name.split("/")):
            return name
    raise Refused("refused", f"{name!r} is not a plain relative path")


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Writes a file that does not exist yet."""
    descriptor = os.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def remove(folder: Path) -> None:
    """Removes a folder whole, read-only parts included. One that is gone already is fine; a link is only unlinked."""
    with contextlib.suppress(FileNotFoundError):
        if folder.is_symlink():
            folder.unlink()
            return
        folder.chmod(0o700)
        for at, folders, _ in os.walk(str(folder)):
            for name in folders:
                if not Path(at, name).is_symlink():
                    Path(at, name).chmod(0o700)
        shutil.rmtree(str(folder))
