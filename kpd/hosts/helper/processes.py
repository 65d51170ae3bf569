"""Finds the processes of a job by the job's folder in their environment. Linux only, through /proc.

Elsewhere nothing is found, and nothing is safe to kill either: pids are reused.
"""

import contextlib
import errno
import os
import signal
import stat
from pathlib import Path
from typing import Iterator  # noqa: UP035 - evaluated under Python 3.6 too

MARK = "KPD_JOB"  # in a job's environment: its folder
LEASE = "lease"  # in a job's folder: the device that it leases


def folder_of(pid: int) -> "Path | None":
    """Return the folder of the job that a process of this user belongs to."""
    with contextlib.suppress(OSError):  # gone by now, or another user's
        if Path(f"/proc/{pid}").stat().st_uid != os.getuid():
            return None
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(MARK.encode() + b"=/"):
                return Path(os.fsdecode(entry.partition(b"=")[2]))
    return None


def marked() -> "Iterator[tuple[int, Path]]":
    """Return this user's processes that belong to jobs."""
    for path in Path("/proc").glob("[0-9]*"):
        folder = folder_of(int(path.name))
        if folder is not None:
            yield int(path.name), folder


def kill(pid: int) -> None:
    with contextlib.suppress(OSError):  # it has just ended
        os.kill(pid, signal.SIGKILL)


def end_marked(folder: Path) -> None:
    """Kills what goes on of a job without supervisor."""
    for pid, of in marked():
        if of == folder:
            kill(pid)


def leftovers(device: str) -> "list[int]":
    """Return what goes on of jobs that had a lease on this device and whose supervisor is dead."""
    found = []
    for pid, folder in marked():
        with contextlib.suppress(OSError, ValueError):  # it had no lease
            if (folder / LEASE).read_text() == device and deserted(folder):
                found.append(pid)
    return found


def deserted(folder: Path) -> bool:
    """Return whether a job's supervisor is surely gone. What cannot be told counts as alive."""
    try:
        alive = os.open(str(folder / "alive"), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as err:
        return err.errno in (errno.ENOENT, errno.ENOTDIR)  # forgotten: no job that runs can be
    try:
        return stat.S_ISFIFO(os.fstat(alive).st_mode) and not os.read(alive, 1)
    except BlockingIOError:
        return False
    finally:
        os.close(alive)


def exists(pid: int) -> bool:
    """Return whether there is such a process, whoever owns it, among those that this machine or container can see.

    One that has given its memory back is only still ending.
    """
    try:
        return Path(f"/proc/{pid}/statm").read_text().split()[0] != "0"
    except (OSError, IndexError):
        return hidden(pid)


def hidden(pid: int) -> bool:
    """Return whether it is another user's, and /proc shows us only our own."""
    try:
        os.kill(pid, 0)
    except OSError as err:
        return err.errno == errno.EPERM
    return False


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""


def parent_of(pid: int) -> int:
    """Raise OSError or ValueError when it is gone."""
    said = Path(f"/proc/{pid}/stat").read_bytes()
    return int(said[said.rindex(b")") :].split()[2])  # a name may hold anything, brackets too


def own_children() -> "list[int]":
    """Return every child of this very process, whatever session it is in."""
    pid = os.getpid()
    with contextlib.suppress(OSError):  # not every kernel has this list
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if parent_of(int(path.name)) == pid:
                found.append(int(path.name))
    return found


def descends(pid: int, ancestor: int) -> bool:
    """Return whether `ancestor` is the process itself or among its parents."""
    with contextlib.suppress(OSError, ValueError):
        while pid > 1:
            if pid == ancestor:
                return True
            pid = parent_of(pid)
    return False
