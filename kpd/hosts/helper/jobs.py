"""Jobs as folders: starting one at most once, knowing whether it lives, following its output, saying how it ended."""

import contextlib
import errno
import json
import os
import shutil
import signal
import stat
from pathlib import Path

from kpd.hosts.helper.files import Refused, remove, write_new
from kpd.hosts.helper.supervisor import RESERVED, Supervisor
from kpd.hosts.helper.wire import KEPT, Header, Wire

CHUNK = 256 << 10
OUTBOX = 4 << 20  # output is read from its file only while less than this waits for the pipe
STREAMS = ("stdout", "stderr")
MARK = "KPD_JOB"  # in a job's environment: its folder, to know its processes by


class Running:
    """A job whose supervisor lives: the FIFO that says when it ends, and who waits for that."""

    def __init__(self, alive: int, supervisor: "int | None") -> None:
        self.alive = alive
        self.supervisor = supervisor  # None when an earlier helper started it
        self.followers = []  # type: list[Follower]
        self.killers = []  # type: list[int]

    def ended(self) -> bool:
        """Whether the FIFO's writer is gone. A job that writes into it itself fools nobody."""
        try:
            return not os.read(self.alive, CHUNK)
        except BlockingIOError:
            return False


class Follower:
    """One request's reading of a job's output, from the first byte on (or from KEPT bytes before the last)."""

    def __init__(self, request: int, folder: Path, cached: bool) -> None:
        self.request = request
        self.folder = folder
        self.cached = cached
        self.ended = cached
        self.offsets = [0, 0]
        self.files = []  # type: list[int]
        for name in STREAMS:
            self.files.append(os.open(str(folder / name), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW))

    def pump(self, wire: Wire) -> "tuple[bool, bool]":
        """Sends what there is, as far as the pipe takes it: (something was sent, nothing is left)."""
        moved = False
        for which, name in enumerate(STREAMS):
            size = os.fstat(self.files[which]).st_size
            self.offsets[which] = max(self.offsets[which], size - KEPT)
            while self.offsets[which] < size:
                if wire.waiting > OUTBOX:
                    return moved, False
                data = os.pread(self.files[which], CHUNK, self.offsets[which])
                if not data:
                    break  # the job has cut its own output short
                wire.send({"id": self.request, "stream": name, "offset": self.offsets[which]}, data)
                self.offsets[which] += len(data)
                moved = True
        return moved, True

    def close(self) -> None:
        close_all(self.files)


def find_running(folder: Path) -> "Running | None":
    """A job that an earlier helper started, or None when no supervisor holds the other end of its FIFO."""
    try:
        alive = os.open(str(folder / "alive"), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    running = Running(alive, None)
    if stat.S_ISFIFO(os.fstat(alive).st_mode) and not running.ended():
        return running
    os.close(alive)
    return None


def start(
    folder: Path, new: Path, script: bytes, stdin: bytes, limit: float, env: "dict[str, str]", cpus: "list[int]"
) -> "Running | None":
    """Starts a job, its folder prepared at `new`; None when another helper was first to take the id."""
    with contextlib.ExitStack() as cleanup:
        new.mkdir()
        cleanup.callback(remove, new)
        (new / "out").mkdir()
        write_new(new / "cmd", script, 0o600)
        for name in (".pgid", ".rc"):
            write_new(new / name, b" " * RESERVED, 0o600)
        fds = []  # type: list[int]
        cleanup.callback(close_all, fds)
        if stdin:
            write_new(new / "stdin", stdin, 0o600)
        fds.append(os.open(str(new / "stdin") if stdin else os.devnull, os.O_RDONLY))
        if stdin:
            (new / "stdin").unlink()  # it may hold a secret seed: only the script's descriptor leads to it
        for name in STREAMS:
            fds.append(os.open(str(new / name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        os.mkfifo(str(new / "alive"), 0o600)
        alive = os.open(str(new / "alive"), os.O_RDONLY | os.O_NONBLOCK)
        failed = cleanup.enter_context(contextlib.ExitStack())
        failed.callback(os.close, alive)
        fds.append(os.open(str(new / "alive"), os.O_WRONLY))
        try:
            new.rename(folder)  # the claim on the id: a folder that is not empty cannot be renamed over
        except OSError as err:
            if err.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return None
            raise
        failed.callback(remove, folder)
        supervisor = Supervisor(folder, limit, env, cpus, fds).fork()
        failed.pop_all()
    return Running(alive, supervisor)


def close_all(descriptors: "list[int]") -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def environment(folder: Path, extra: "dict[str, str]") -> "dict[str, str]":
    """All that a job sees: never what the helper, or the daemon that started it, has in its own."""
    env = {
        "PATH": os.environ.get("PATH") or os.defpath,
        "HOME": str(Path("~").expanduser()),
        "LANG": "C",
        "TMPDIR": str(folder),
        MARK: str(folder),
    }
    for name, value in extra.items():
        try:
            if not name or "=" in name or b"\0" in os.fsencode(name + value):
                raise Refused("refused", f"{name!r} cannot be set in an environment")
        except UnicodeEncodeError as err:
            raise Refused("refused", f"{name!r} cannot be set in this host's locale") from err
        env[name] = value
    return env


def supervisor_of(folder: Path) -> int:
    """The pid of a running job's supervisor, which has noted it beside the job's group."""
    try:
        return int((folder / "pgid").read_text().split()[1])
    except (OSError, ValueError, IndexError) as err:
        raise Refused("host", f"job {folder.name} does not say who supervises it") from err


def outcome(folder: Path) -> Header:
    """How a job that no longer runs ended. One without an rc is lost: its supervisor was killed, or the host fell."""
    try:
        with (folder / "rc").open("rb") as file:
            end = json.loads(file.read(RESERVED).decode())
        return {
            "rc": int(end["rc"]),
            "reason": str(end["reason"]),
            "seconds": float(end["seconds"]),
            "free": int(end["free"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        end_marked(folder)
        return {"rc": -1, "reason": "lost", "seconds": 0.0, "free": shutil.disk_usage(str(folder.parent)).free}


def end_marked(folder: Path) -> None:
    """Kills what goes on of a job without supervisor. Without /proc nothing is safe to kill: pids are reused."""
    mark = os.fsencode(f"{MARK}={folder}")
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # gone by now, or another user's
            if mark in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)
