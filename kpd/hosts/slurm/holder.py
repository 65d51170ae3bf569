"""Holds an allocation from inside: the program of the batch step, and the one that enters from a step of srun.

It is sent as source, and needs Python 3.6. `hold` listens on a unix socket in a folder of the node; `enter` gives its
own stdin, stdout and stderr, and a command, to that socket, and ends with the command. So what the command leaves
behind lives in the batch step: as long as the allocation, and not only as long as the connection. The holder ends
everything when its step ends, in whatever way, and when nobody has been inside for `patience` seconds. It starts
nothing for what runs inside: a candidate that reaches the socket would get a command out of its sandbox.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import time
from pathlib import Path

SUBREAPER = 36
LONGEST = 1 << 20  # bytes of a command
STDIO = (0, 1, 2)
TICK_S = 0.5
PREFIX = "/tmp/kpd-allocation-"
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def hold(job: str, patience: float, source: str) -> int:
    """Hold the allocation `job`, its name and id, until its step ends, or nobody has been inside for `patience` s."""
    folder = Path(PREFIX + job)
    os.umask(0o077)
    if folder.exists() and folder.stat().st_uid == os.getuid():
        shutil.rmtree(str(folder))
    try:
        folder.mkdir()
    except FileExistsError:
        return 3
    ours = os.open(str(folder), os.O_RDONLY)
    (folder / "holder.py").write_text(source)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "socket"))
    listening.listen(16)
    step, theirs = os.pipe()  # the second end closes with the process that Slurm knows, however that ends
    child = os.fork()
    if child:
        os.close(step)
        os.waitpid(child, 0)
        return 0
    os.close(theirs)
    os.setsid()  # out of reach of a signal to the step's process group, so that somebody is left to clean up
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    for number in ENDING:  # some of Slurm's plug-ins signal this process, too, before they kill it
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        serve(listening, step, patience, f"{job}@{time.time():.0f}")  # a controller that crashes gives an id again
    finally:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        end_all()
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(ours), folder.stat()):  # and not that of another job with this id
                shutil.rmtree(str(folder), ignore_errors=True)
    return 0


def serve(listening: socket.socket, step: int, patience: float, lent: str) -> None:
    inside = set()  # type: set[int]
    seen = time.monotonic()
    while True:
        ready = select.select([listening.fileno(), step], [], [], TICK_S)[0]
        if step in ready:
            return
        if listening.fileno() in ready:
            inside.add(admit(listening, lent))
        reap(inside)
        now = time.monotonic()
        if inside - {0}:
            seen = now
        elif now - seen > patience:
            return


def admit(listening: socket.socket, lent: str) -> int:
    """Start the command of one who connects, and return its pid; 0 for one who may not."""
    near, _ = listening.accept()
    with near:
        pid, uid, _ = struct.unpack("3i", near.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        near.settimeout(5.0)
        if uid != os.getuid() or is_inside(pid):
            return 0
        try:
            said, extra, _, _ = near.recvmsg(LONGEST, socket.CMSG_LEN(4 * len(STDIO)))
            descriptors = struct.unpack("3i", extra[0][2])
            while not said.endswith(b"\n"):
                piece = near.recv(LONGEST)
                if not piece or len(said) > LONGEST:
                    return 0
                said += piece
            command = json.loads(said.decode())
        except (OSError, ValueError, IndexError, struct.error):
            return 0
        pid = os.fork()
        if pid == 0:
            become(command, descriptors, near, lent)
        for descriptor in descriptors:
            os.close(descriptor)
        return pid


def is_inside(pid: int) -> bool:
    """Return whether a process descends from this one, which adopts orphans, or is gone already."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int((Path("/proc") / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[1])
        except OSError:
            return True
    return False


def become(command: "list[str]", descriptors: "tuple[int, ...]", near: socket.socket, lent: str) -> None:
    try:
        os.setsid()
        for target, descriptor in zip(STDIO, descriptors):  # noqa: B905 - evaluated under Python 3.6 too:
            os.dup2(descriptor, target)
        os.set_inheritable(near.fileno(), True)  # it closes with the command: that is how the other end learns of it
        os.closerange(3, near.fileno())
        os.closerange(near.fileno() + 1, 1024)
        os.execvpe(command[0], command, dict(os.environ, KPD_ALLOCATION=lent))
    except OSError as err:
        os.write(2, f"{command[0]}: {err.strerror}\n".encode())
    finally:
        os._exit(127)


def reap(inside: "set[int]") -> None:
    while True:
        try:
            pid = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError:
            pid = 0
        if not pid:
            break
        inside.discard(pid)


def end_all() -> None:
    """Kill all that descends from this process. Orphans become its children, so none is missed."""
    while True:
        parents = {}  # type: dict[int, list[int]]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                state, parent = (process / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state != b"Z":
                parents.setdefault(int(parent), []).append(int(process.name))
        below = list(parents.get(os.getpid(), ()))
        for pid in below:
            below.extend(parents.get(pid, ()))
        if not below:
            return
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap(set())
        time.sleep(0.02)


def enter(job: str, command: "list[str]") -> int:
    """Have the holder start a command with this process' stdin, stdout and stderr, and wait for its end."""
    import tty

    if os.isatty(1):  # srun --unbuffered makes stdout a terminal, which would change bytes
        tty.setraw(1)
    folder = Path(PREFIX + job)
    if folder.stat().st_uid != os.getuid():
        sys.exit(f"{folder} belongs to somebody else")
    near = socket.socket(socket.AF_UNIX)
    near.connect(str(folder / "socket"))
    text = json.dumps(command).encode() + b"\n"
    sent = near.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("3i", *STDIO))])
    near.sendall(text[sent:])
    for descriptor in STDIO:
        os.close(descriptor)
    near.recv(1)
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "enter":
        sys.exit(enter(sys.argv[2], sys.argv[3:]))
    sys.exit(hold(f"{sys.argv[3]}-{os.environ['SLURM_JOB_ID']}", float(sys.argv[1]), sys.argv[2]))
