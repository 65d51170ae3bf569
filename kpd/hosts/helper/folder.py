"""Manages one job's folder: creates it at most once, starts its supervisor, reads how the job ended."""

import contextlib
import errno
import json
import os
import shutil
import stat
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused, remove, write_new
from kpd.hosts.helper.processes import LEASE, MARK, end_marked
from kpd.hosts.helper.supervisor import RESERVED, SPARE, JobOrder, Supervisor
from kpd.hosts.helper.wire import Header

STREAMS = ("stdout", "stderr")
NOTES = "notes"  # what the supervisor reports, as JSON lines; only with a lease


class RunningJob:
    """A job whose supervisor lives: the FIFO that shows its end, and the requests to kill it that wait for that."""

    def __init__(self, alive: int, supervisor: "int | None") -> None:
        self.alive = alive
        self.supervisor = supervisor  # None when an earlier helper started it
        self.killers = []  # type: list[int]

    def ended(self) -> bool:
        """Return whether the FIFO's writer is gone. Bytes that a job writes into the FIFO are ignored."""
        try:
            return not os.read(self.alive, 1 << 16)
        except BlockingIOError:
            return False


def find_running(folder: Path) -> "RunningJob | None":
    """Find a job that an earlier helper started; None when no supervisor holds the other end of its FIFO."""
    try:
        alive = os.open(str(folder / "alive"), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    running = RunningJob(alive, None)
    if stat.S_ISFIFO(os.fstat(alive).st_mode) and not running.ended():
        return running
    os.close(alive)
    return None


def start(folder: Path, new: Path, order: JobOrder) -> "RunningJob | None":
    """Start a job, after its folder is prepared at `new`; return None when another helper has taken the id first."""
    with contextlib.ExitStack() as cleanup:
        new.mkdir()
        cleanup.callback(remove, new)
        (new / "out").mkdir()
        write_new(new / "cmd", order.script, 0o600)
        for name in SPARE:
            write_new(new / name, b" " * RESERVED, 0o600)
        fds = []  # type: list[int]
        cleanup.callback(close_all, fds)
        fds.append(os.open(os.devnull, os.O_RDONLY))
        for name in STREAMS:
            fds.append(open_stream(new / name))
        os.mkfifo(str(new / "alive"), 0o600)
        alive = os.open(str(new / "alive"), os.O_RDONLY | os.O_NONBLOCK)
        failed = cleanup.enter_context(contextlib.ExitStack())
        failed.callback(os.close, alive)
        fds.append(os.open(str(new / "alive"), os.O_WRONLY))
        if order.lease is not None:
            write_new(new / LEASE, order.lease.device.encode(), 0o600)
            fds.append(open_stream(new / NOTES))
        try:
            new.rename(folder)  # the claim on the id: a folder that is not empty cannot be renamed over
        except OSError as err:
            if err.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return None
            raise
        failed.callback(remove, folder)
        supervisor = Supervisor(folder, order, fds).fork()
        failed.pop_all()
    return RunningJob(alive, supervisor)


def let_go(folder: Path, gone: Path) -> None:
    """Remove a job that does not run.

    It is renamed to the fresh path `gone` first, so that nobody takes a half-removed folder for a job.
    """
    if not (folder / "rc").exists():
        end_marked(folder)  # without the folder, nobody could tell which job they belong to
    folder.rename(gone)
    remove(gone)


def open_stream(path: Path) -> int:
    return os.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def close_all(descriptors: "list[int]") -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def base_environment() -> "dict[str, str]":
    """Return the environment that every command on the host gets."""
    return {"PATH": os.environ.get("PATH") or os.defpath, "HOME": str(Path("~").expanduser()), "LANG": "C"}


def environment(folder: Path, extra: "dict[str, str]") -> "dict[str, str]":
    """Return the whole environment of a job. It has nothing of the helper's or the daemon's own.

    Raises RequestRefused for a variable that cannot be set.
    """
    env = dict(base_environment(), TMPDIR=str(folder), **{MARK: str(folder)})
    for name, value in extra.items():
        try:
            if not name or "=" in name or b"\0" in os.fsencode(name + value):
                raise RequestRefused("refused", f"{name!r} cannot be set in an environment")
        except UnicodeEncodeError as err:
            raise RequestRefused("refused", f"{name!r} cannot be set in this host's locale") from err
        env[name] = value
    return env


def supervisor_of(folder: Path) -> int:
    """Read the pid of a running job's supervisor, which is noted beside the job's process group.

    Raises RequestRefused where it is not there.
    """
    try:
        return int((folder / "pgid").read_text().split()[1])
    except (OSError, ValueError, IndexError) as err:
        raise RequestRefused("host", f"job {folder.name} has no record of its supervisor") from err


def outcome(folder: Path) -> Header:
    """Read how a job that no longer runs ended.

    A job without an `rc` is lost: its supervisor was killed, or the host crashed. What is left of its processes is
    killed.
    """
    try:
        with (folder / "rc").open("rb") as file:
            end = json.loads(file.read(RESERVED).decode())
        return {
            "rc": int(end["rc"]),
            "reason": str(end["reason"]),
            "seconds": float(end["seconds"]),
            "free": int(end["free"]),
            "token": int(end.get("token", 0)),  # an older kpd wrote neither this
            "taint": str(end.get("taint", "")),  # nor this
            "lease_lost": bool(end.get("lease_lost", False)),  # nor this
        }
    except (OSError, ValueError, KeyError, TypeError):
        end_marked(folder)
        free = shutil.disk_usage(str(folder.parent) if folder.parent.is_dir() else "/").free
        return {"rc": -1, "reason": "lost", "seconds": 0.0, "free": free, "token": 0, "taint": "", "lease_lost": False}


def loss(folder: Path) -> str:
    """Return how a job that no longer runs lost its lease, in words; empty when it did not, or is not known."""
    if not (folder / "rc").exists():
        return ""
    end = outcome(folder)
    return str(end["taint"]) if end["lease_lost"] else ""
