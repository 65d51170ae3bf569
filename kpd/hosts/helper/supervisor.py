"""A job's supervisor: a fork of the helper that runs one script, outlives the helper, and says how the script ended."""

import contextlib
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

try:
    import ctypes
except ImportError:  # some builds of Python lack it; then a job's group is ended, but not what has left the group
    ctypes = None  # type: ignore[assignment]

GRACE = 0.5  # seconds between TERM and KILL
STUCK = 5.0  # seconds after KILL to wait for a process that hangs in the kernel
MAX_FILE = 4 << 30  # bytes a job may write to one file: a runaway print loop must not fill the disk
RESERVED = 256  # bytes set aside on disk at the start for each of `pgid` and `rc`


class Supervisor:
    """Runs `cmd` in its own process group, enforces the limit, ends what the script leaves behind, writes `rc`."""

    def __init__(self, folder: Path, limit: float, env: "dict[str, str]", cpus: "list[int]", fds: "list[int]") -> None:
        self.folder = folder
        self.limit = limit
        self.env = env
        self.cpus = cpus
        self.fds = fds  # the script's stdin, stdout, stderr, and the writing end of `alive`
        self.script = 0
        self.status = None  # type: int | None
        self.childless = False
        self.adopts = False
        self.asked = False
        self.wake = -1

    def fork(self) -> int:
        """Starts the supervisor; its pid."""
        early = {signal.SIGTERM, signal.SIGCHLD}  # held back until the supervisor can take them
        signal.pthread_sigmask(signal.SIG_BLOCK, early)
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    self.run()
                finally:
                    if sys.exc_info()[0] is not None:
                        traceback.print_exc()
                    os._exit(0)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, early)
        return pid

    def run(self) -> None:
        os.setsid()
        os.chdir(str(self.folder))
        self.drop_inherited()
        self.listen()
        self.adopt_orphans()
        started = time.monotonic()
        self.script = os.fork()
        if self.script == 0:
            self.become_script()
        with contextlib.suppress(OSError):  # the script has done it itself, and may be gone already
            os.setpgid(self.script, self.script)
        settle("pgid", f"{self.script} {os.getpid()}")
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        reason = self.wait(started + self.limit)
        seconds = time.monotonic() - started
        self.end_all()
        if self.status is None:
            rc = -int(signal.SIGKILL)  # sent, but the script hangs in the kernel
        elif os.WIFSIGNALED(self.status):
            rc = -os.WTERMSIG(self.status)
        else:
            rc = os.WEXITSTATUS(self.status)
        end = {"rc": rc, "reason": reason, "seconds": round(seconds, 6), "free": shutil.disk_usage(".").free}
        settle("rc", json.dumps(end))
        os.close(self.fds[3])  # wakes the helper: sooner than the exit of this process would

    def drop_inherited(self) -> None:
        """Lets go of the helper's pipes: the near side must see their end when the helper dies."""
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(self.fds[2], 2)  # a supervisor's own traceback belongs to its job
        for descriptor in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
            if descriptor > 2 and descriptor not in self.fds:
                with contextlib.suppress(OSError):  # the listing's own is gone by now
                    os.close(descriptor)

    def listen(self) -> None:
        """A child's end or a TERM, which asks for the job's end, wakes `nap`; what a terminal sends is ignored."""
        self.wake, wake = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.ask)
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def ask(self, *_: object) -> None:
        self.asked = True

    def adopt_orphans(self) -> None:
        """On Linux what the script's processes leave behind becomes our child, even out of a session of its own."""
        if sys.platform == "linux" and ctypes is not None:
            set_child_subreaper = 36
            self.adopts = ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0) == 0

    def become_script(self) -> None:
        try:
            os.setpgid(0, 0)
            # Python ignores some signals, and an ignored signal stays ignored across exec.
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            most = MAX_FILE if hard == resource.RLIM_INFINITY else min(MAX_FILE, hard)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
            if self.cpus:
                os.sched_setaffinity(0, self.cpus)
            for standard in range(3):
                os.dup2(self.fds[standard], standard)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.execve("/bin/sh", ["/bin/sh", "cmd"], self.env)
        finally:  # reached only when something failed
            traceback.print_exc()
            os._exit(126)

    def wait(self, deadline: float) -> str:
        """Until the script has ended, its time is over or its end was asked for; the reason."""
        while True:
            self.reap()
            if self.status is not None:
                return ""
            if self.asked:
                return "killed"
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            self.nap(left)

    def nap(self, seconds: float) -> None:
        """Sleeps until a child ends, a signal comes or the time is over."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.wake, selectors.EVENT_READ)
            selector.select(min(seconds, 3600.0))
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake, 4096)

    def reap(self) -> None:
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            self.childless = False
            if child == 0:
                return
            if child == self.script:
                self.status = status

    def end_all(self) -> None:
        """TERM, and KILL half a second later, to the script's group and to every orphan that came to us."""
        for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, STUCK)):
            deadline = time.monotonic() + patience
            told = False
            while self.left_over() and time.monotonic() < deadline:
                if not told or number == signal.SIGKILL:  # the end of one process may bring us new orphans
                    self.tell(number)
                    told = True
                self.nap(0.01)

    def left_over(self) -> bool:
        self.reap()
        if self.adopts:
            return not self.childless
        try:
            os.killpg(self.script, 0)
        except OSError:  # none is left, or (macOS) only zombies that init is about to reap
            return False
        return True

    def tell(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.script, number)
        if self.adopts:
            with contextlib.suppress(OSError):  # a kernel may lack this list; then the group has to do
                for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                    with contextlib.suppress(OSError):
                        os.kill(int(word), number)


def settle(name: str, text: str) -> None:
    """A small file of the job, all at once. Its space was reserved at the start, so a full disk cannot lose it."""
    with Path("." + name).open("r+b") as file:
        file.write(text.encode().ljust(RESERVED))
    Path("." + name).replace(name)
