"""One daemon a workspace: whoever holds the lock file's `flock` is it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AlreadyRunning(Exception):
    """Another daemon holds the workspace; `pid` is None when it has not written its number yet."""

    def __init__(self, pid: int | None) -> None:
        who = f"process {pid}" if pid is not None else "another process"
        super().__init__(f"a daemon runs already for this workspace ({who}); kpd attach, or kpd shutdown to end it")
        self.pid = pid


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Be the only one inside this block. Raises AlreadyRunning, OSError.

    The kernel drops the lock with the process, so nothing is left to clean up after a crash. The file itself stays:
    removing it would let two daemons lock two files of one name. Its number serves messages, never decisions.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            raise AlreadyRunning(_number(descriptor)) from err
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _number(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None
