"""Keeps the daemon's memory and its socket from the jobs that it runs, which are processes of the same user."""

import ctypes
import stat
import sys
from pathlib import Path

from kpd.hosts.processes import folder_of, parent_of, terminal_of

DUMPABLE = 4
MOST_ANCESTORS = 1000


def close_memory() -> bool:
    """Close this process' memory and first environment to other processes of its user; return whether that worked.

    This is Linux's prctl(PR_SET_DUMPABLE, 0). Root can read both all the same, unless it is in a sandbox.
    """
    return sys.platform == "linux" and bool(ctypes.CDLL(None).prctl(DUMPABLE, 0, 0, 0, 0) == 0)


def is_of_a_job(pid: int) -> bool:
    """Return whether a process, or one that it descends from, belongs to a job on this machine. Linux only.

    A job can clean its own environment and leave its folder and its group. But its orphans are adopted by its
    supervisor, and that stays in the job's folder, without a terminal. A process that has ended counts as one of a job:
    nobody can say any more what it was. One of another container (pid 0) does not, nor what descends from a process
    that /proc hides from this user (`hidepid`), as it does sshd.
    """
    if sys.platform != "linux":
        return False
    child = 0
    for _ in range(MOST_ANCESTORS):
        if pid <= 1:
            return False
        if (parent := _parent(pid)) is None:
            now = _parent(child) if child else None
            if now is None or now == pid:
                return now is None
            pid = now
            continue
        if folder_of(pid) is not None or _is_in_a_jobs_folder(pid):
            return True
        child, pid = pid, parent
    return True


def is_confined(pid: int) -> bool:
    """Return whether a process is in a sandbox, and this one is not: it may get no new rights. Linux only.

    This finds what has left its job: nothing takes that mark back, and every child inherits it.
    """
    return _no_new_rights(str(pid)) and not _no_new_rights("self")


def _no_new_rights(pid: str) -> bool:
    try:
        return b"\nNoNewPrivs:\t1\n" in Path(f"/proc/{pid}/status").read_bytes()
    except OSError:  # it has ended, is hidden, or there is no /proc
        return False


def _parent(pid: int) -> int | None:
    """Return the parent of a process; None if it has ended, or is hidden."""
    try:
        return parent_of(pid)
    except (OSError, ValueError):
        return None


def _is_in_a_jobs_folder(pid: int) -> bool:
    """Return whether a process without a terminal stays in the folder of a job, as a job's supervisor does."""
    try:
        folder = Path(f"/proc/{pid}/cwd").readlink()
        is_jobs = folder.parent.name == "jobs" and stat.S_ISFIFO((folder / "alive").lstat().st_mode)
        return is_jobs and not terminal_of(pid)
    except (OSError, ValueError):  # another user's, or no such folder, or it has ended
        return False
