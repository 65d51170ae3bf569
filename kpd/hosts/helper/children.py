"""Starts, waits for and kills a supervisor's child processes, without missing a signal."""

import contextlib
import os
import selectors
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Callable, Container  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.hosts.helper.processes import own_children

try:
    import ctypes
except ImportError:  # some builds of Python lack it; then a job's group is ended, but not what has left the group
    ctypes = None  # type: ignore[assignment]

GRACE = 0.5  # seconds between TERM and KILL
STUCK = 5.0  # seconds after KILL to wait for a process that hangs in the kernel
HELD_BACK = {signal.SIGTERM, signal.SIGCHLD}  # while a process is not ready to take them
LIBC = ctypes.CDLL(None) if sys.platform == "linux" and ctypes is not None else None
DIE_WITH_PARENT, ADOPT_ORPHANS = 1, 36  # options of Linux's prctl


class Children:
    """The processes that this one has started, and on Linux all their orphans, even in sessions of their own.

    Nothing else may wait for a child: `reap` collects every status.
    """

    def __init__(self) -> None:
        self.statuses = {}  # type: dict[int, int | None]
        self.none = False  # whether `reap` has found that there is no child at all
        self.asked = False  # whether a TERM has asked for the job's end
        self.adopts = prctl(ADOPT_ORPHANS, 1)
        self.wake = -1

    def listen(self) -> None:
        """Let a child's end or a SIGTERM wake `nap` from now on, and ignore the signals of terminals."""
        self.wake, wake = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.ask)
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def ask(self, *_: object) -> None:
        self.asked = True

    def spawn(self, become: "Callable[[], None]") -> int:
        """Fork a child that calls `become`, which must replace the process or end it; return its pid.

        On Linux the child is killed when its parent dies, so that none begins its work after that.
        """
        parent = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    prctl(DIE_WITH_PARENT, signal.SIGKILL)
                    if os.getppid() != parent:
                        os._exit(126)  # the parent ended first
                    signal.set_wakeup_fd(-1)
                    # Python ignores some signals, and an ignored signal stays ignored across exec.
                    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, *HELD_BACK):
                        signal.signal(number, signal.SIG_DFL)
                    signal.pthread_sigmask(signal.SIG_SETMASK, [])
                    become()
                finally:  # reached only when something failed
                    fail(126)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
        self.statuses[pid] = None
        return pid

    def status(self, pid: int) -> "int | None":
        """Return how a started child ended, as `os.waitpid` gives it; None while it runs."""
        self.reap()
        return self.statuses[pid]

    def reap(self) -> None:
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.none = True
                return
            self.none = False
            if child == 0:
                return
            if child in self.statuses:
                self.statuses[child] = status

    def nap(self, seconds: float) -> None:
        """Sleep until a child ends, a signal comes or the time is over."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.wake, selectors.EVENT_READ)
            selector.select(min(seconds, 3600.0))
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake, 4096)

    def end(self, group: int, grace: float = GRACE) -> None:
        """Send SIGTERM, and `grace` seconds later SIGKILL, to a group and to every other child."""
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, STUCK)):
            deadline = time.monotonic() + patience
            told = False
            while self.any(group) and time.monotonic() < deadline:
                if not told or number == signal.SIGKILL:  # the end of one process may give us its orphans
                    self.tell(group, number)
                    told = True
                self.nap(0.01)

    def any(self, group: int) -> bool:
        self.reap()
        if self.adopts:
            return not self.none
        try:
            os.killpg(group, 0)
        except OSError:  # none is left, or (macOS) only zombies that init is about to reap
            return False
        return True

    def tell(self, group: int, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(group, number)
        if self.adopts:
            for child in own_children():
                with contextlib.suppress(OSError):
                    if os.getpgid(child) != group:  # the group has had the signal: a script's trap must run only once
                        os.kill(child, number)


def drop_inherited(kept: "Container[int]") -> None:
    """Close all descriptors of a forked process except the standard streams and those in `kept`."""
    for descriptor in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
        if descriptor > 2 and descriptor not in kept:
            with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
                os.close(descriptor)


def prctl(option: int, value: int) -> bool:
    """Set an option of this process with Linux's prctl; return whether that worked."""
    return LIBC is not None and bool(LIBC.prctl(option, value, 0, 0, 0) == 0)


def fail(status: int) -> None:
    """End a forked process whatever happens: it must never continue as a second copy of its parent."""
    try:
        traceback.print_exc()
    finally:
        os._exit(status)
