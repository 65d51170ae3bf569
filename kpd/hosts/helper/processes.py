"""Finds the processes of a job by the job's folder in their environment. Linux only, through /proc.

On other systems nothing is found, and so nothing is killed: pids are reused.
"""

import contextlib
import errno
import os
import pwd
import signal
import stat
from pathlib import Path
from typing import Iterator  # noqa: UP035 - evaluated under Python 3.6 too

MARK = "KPD_JOB"  # in a job's environment: its folder
LEASE = "lease"  # in a job's folder: the device that it leases


def folder_of(pid: int) -> "Path | None":
    """Return the folder of the job that a process of this user belongs to; None for any other process."""
    with contextlib.suppress(OSError):  # gone by now, or another user's
        if Path(f"/proc/{pid}").stat().st_uid != os.getuid():
            return None
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(MARK.encode() + b"=/"):
                return Path(os.fsdecode(entry.partition(b"=")[2]))
    return None


def marked() -> "Iterator[tuple[int, Path]]":
    """Yield this user's processes that belong to jobs, as (pid, the job's folder).

    A process in a container whose files are others than ours is left out: at that path it has another folder.
    """
    for path in Path("/proc").glob("[0-9]*"):
        folder = folder_of(int(path.name))
        if folder is not None and same_folder(int(path.name), folder):
            yield int(path.name), folder


def same_folder(pid: int, folder: Path) -> bool:
    """Return whether a process and we have the same folder at that path, or both none."""
    return identity(folder) == identity(Path(f"/proc/{pid}/root{folder}"))


def identity(path: Path) -> "tuple[int, int] | None":
    """Return the device and number of what is at the path; None where nothing is."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def kill(pid: int) -> None:
    with contextlib.suppress(OSError):  # it has just ended
        os.kill(pid, signal.SIGKILL)


def end_marked(folder: Path) -> None:
    """Kill the processes that are left of a job without supervisor."""
    for pid, of in marked():
        if of == folder:
            kill(pid)


def leftovers(device: str) -> "list[int]":
    """List the processes that are left of jobs whose lease was on this device and whose supervisor is dead."""
    found = []
    for pid, folder in marked():
        with contextlib.suppress(OSError, ValueError):  # it had no lease
            if (folder / LEASE).read_text() == device and deserted(folder):
                found.append(pid)
    return found


def deserted(folder: Path) -> bool:
    """Return whether a job's supervisor is certainly gone. If that cannot be found out, it counts as alive."""
    try:
        alive = os.open(str(folder / "alive"), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as err:
        return err.errno in (errno.ENOENT, errno.ENOTDIR)  # the job was forgotten, which no running job can be
    try:
        return stat.S_ISFIFO(os.fstat(alive).st_mode) and not os.read(alive, 1)
    except BlockingIOError:
        return False
    finally:
        os.close(alive)


def exists(pid: int) -> bool:
    """Return whether this machine or container has such a process, whoever owns it.

    A process that has already freed its memory is ending, and does not count.
    """
    try:
        return Path(f"/proc/{pid}/statm").read_text().split()[0] != "0"
    except (OSError, IndexError):
        return hidden(pid)


def hidden(pid: int) -> bool:
    """Return whether the process is another user's, on a system where /proc shows only our own."""
    try:
        os.kill(pid, 0)
    except OSError as err:
        return err.errno == errno.EPERM
    return False


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""


def user_of(pid: int) -> "int | None":
    """Return the user id of a process; None where it is gone, or not known."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
        return int(next(line for line in lines if line.startswith(b"Uid:")).split()[1])
    return None


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container's user often has no entry
        return str(uid)


def lock_holder(inode: int) -> int:
    """Return the process that has taken the `flock` on a file, which may be gone by now; 0 where that is not known."""
    with contextlib.suppress(OSError):
        rows = (line.split() for line in Path("/proc/locks").read_text().splitlines())
        found = [row[4] for row in rows if row[1] == "FLOCK" and row[5].endswith(f":{inode}")]
        if len(found) == 1 and found[0].isdigit():  # an inode's number may be another file's, on another disk
            return int(found[0])
    return 0


def parent_of(pid: int) -> int:
    """Return the pid of a process' parent. Raises OSError or ValueError when the process is gone."""
    return _stat(pid, 2)


def terminal_of(pid: int) -> int:
    """Return the number of a process' terminal, 0 without one. Raises OSError or ValueError when it is gone."""
    return _stat(pid, 5)


def _stat(pid: int, field: int) -> int:
    said = Path(f"/proc/{pid}/stat").read_bytes()
    return int(said[said.rindex(b")") :].split()[field])  # a name may hold anything, brackets too


def own_children() -> "list[int]":
    """List every child of this process, whatever session it is in."""
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
    """Return whether `ancestor` is the process itself or one of its ancestors."""
    with contextlib.suppress(OSError, ValueError):
        while pid > 1:
            if pid == ancestor:
                return True
            pid = parent_of(pid)
    return False
