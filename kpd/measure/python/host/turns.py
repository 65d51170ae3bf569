"""Forks the processes of a contest from this one: some get ready while one measures, and they report in their order.

A check or repeats may come first: the contest's first process makes its context on the device meanwhile.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Container
from typing import NamedTuple, NoReturn

from kpd.hosts.helper.children import ADOPT_ORPHANS, STUCK, prctl
from kpd.hosts.helper.processes import kill, own_children

LATE = 124  # the exit status of a job whose first command took too long
LOOK_S = 0.01  # between two looks at whether it has ended
READY_AHEAD = 2  # processes that get ready while one measures: that takes longer than a turn
STARTED, MEASURED = b"s", b"m"


class ContestTurn(NamedTuple):
    """What keeps a process of a contest in its order: two pipes with the one that has forked it. No worker has them.

    One that `follows` a command waits before it reads its line of stdin, too.
    """

    number: int
    go: int
    told: int
    follows: bool = False

    def wait(self) -> None:
        """Wait until this process may go on. It ends where the one that has forked it is gone."""
        if not os.read(self.go, 1):
            os._exit(1)

    def tell(self, what: bytes) -> None:
        os.write(self.told, what)


class Forked(NamedTuple):
    """A process of a contest, and our ends of its pipes."""

    pid: int
    go: int
    told: int

    def let(self) -> None:
        """Let it go on."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.go, b".")

    def hear(self, until: float | None = None) -> bytes:
        """Wait until it tells what it has done, and return that; nothing if it ends, or when the time is over."""
        left = None if until is None else max(0.0, until - time.monotonic())
        return os.read(self.told, 1) if select.select([self.told], [], [], left)[0] else b""

    def started_before(self, other: Forked, until: float) -> bool:
        """Return whether it tells that it has started before the other one tells anything, or the time is over."""
        left = max(0.0, until - time.monotonic())
        speak, _, _ = select.select([self.told, other.told], [], [], left)
        return speak[:1] == [self.told] and self.hear() == STARTED

    def close(self) -> None:
        os.close(self.go)
        os.close(self.told)

    def end(self, until: float = math.inf) -> int:
        """Wait for its end, and return its exit status as a shell does; LATE if it has to be killed then."""
        self.close()
        return ended(self.pid, until)


class First(NamedTuple):
    """A command before a contest, in a process of its own, which may take `limit_s`.

    It tells STARTED when its kernels are loaded, and MEASURED when it goes well, and a contest may measure. Does it
    hold the contest, no kernels are loaded for that before; else processes get ready.
    """

    work: Callable[[ContestTurn], int]
    limit_s: float
    holds: bool


def adopt() -> None:
    """Become the parent of what children leave, so that `end_strays` finds it."""
    prctl(ADOPT_ORPHANS, 1)


def end_strays(known: Container[int] = ()) -> None:
    """Kill what children that have ended have left: nothing of it may disturb what comes after."""
    deadline = time.monotonic() + STUCK
    while (left := [pid for pid in own_children() if pid not in known]) and time.monotonic() < deadline:
        for pid in left:
            kill(pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def in_child(work: Callable[[], int], limit_s: float) -> int:
    """Call `work` in a process of its own, and end what it leaves. Return its exit status; LATE after the limit."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _end_as(work)
    status = ended(pid, time.monotonic() + limit_s)
    end_strays()
    return status


def ended(pid: int, until: float) -> int:
    """Wait for the end of a child, and return its exit status as a shell does; LATE if it has to be killed then."""
    while not (found := os.waitpid(pid, 0 if until == math.inf else os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(LOOK_S)
    if not found[0]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return LATE
    code = os.waitstatus_to_exitcode(found[1])
    return code if code >= 0 else 128 - code


def contest(
    processes: int, one: Callable[[ContestTurn], int], first: First | None = None, short: int | None = None
) -> int:
    """Call `one` in so many processes, of which one measures at a time. Return the first exit status that is not 0.

    It tells its turn STARTED when it has read its line of stdin, on a GPU once kernels are loaded there, waits, tells
    MEASURED, and waits before it reports. With a command that comes `first` there is no contest unless that goes well.
    While the process that is `short` measures, only one gets ready: what others do on the device makes short batches
    longer.
    """
    waiting: deque[Forked] = deque()
    open_ones: list[Forked] = []
    adopt()
    try:
        if first is not None and (status := _before(first, one, processes, waiting)):
            return status
        for number in range(processes):
            if not waiting:
                waiting.append(_forked(one, number, open_ones))
            open_ones.append(waiting.popleft())
            open_ones[-1].let()
            ahead = 1 if number == short else READY_AHEAD
            while len(waiting) < min(ahead, processes - number - 1):
                waiting.append(_forked(one, number + len(waiting) + 1, [*open_ones, *waiting]))
            open_ones[-1].hear()
            if len(open_ones) > 1:
                status = open_ones.pop(0).end()
                end_strays([one.pid for one in (*open_ones, *waiting)])
                if status:
                    return status
            open_ones[-1].let()
        return open_ones.pop().end() if open_ones else 0
    finally:
        for left in (*open_ones, *waiting):
            os.kill(left.pid, signal.SIGKILL)
            left.end()
        end_strays()


def _before(first: First, one: Callable[[ContestTurn], int], processes: int, waiting: deque[Forked]) -> int:
    """Do the first command. Return its exit status; if it is 0, the first processes of the contest are `waiting`.

    The driver makes one context after the other, so each is forked when the one before it has its own.
    """
    until = time.monotonic() + first.limit_s
    command, heard = _begun(first.work, 0, []), True
    try:
        command.let()
        most = min(processes, 1 if first.holds else READY_AHEAD) if command.hear(until) == STARTED else 0
        while len(waiting) < most and heard:
            waiting.append(_begun(one, len(waiting), [command, *waiting], follows=first.holds))
            heard = not first.holds and waiting[-1].started_before(command, until)
        if passed := command.hear(until) == MEASURED:  # the time may have been over before it had started
            for process in waiting if first.holds else ():
                process.let()
            command.let()
    except BaseException:
        os.kill(command.pid, signal.SIGKILL)
        raise
    finally:
        status = command.end(until)
        end_strays([process.pid for process in waiting])
    if passed and not status and not heard:
        waiting[-1].hear()
    return status or int(not passed)


def _forked(one: Callable[[ContestTurn], int], number: int, others: list[Forked]) -> Forked:
    """Fork a process of a contest, and wait until it has started: the next one reads from the same pipe."""
    found = _begun(one, number, others)
    found.hear()
    return found


def _begun(one: Callable[[ContestTurn], int], number: int, others: list[Forked], follows: bool = False) -> Forked:
    """Fork a process that has a turn."""
    (its_go, go), (told, its_told) = os.pipe(), os.pipe()

    def work() -> int:
        for other in others:
            other.close()
        os.close(go)
        os.close(told)
        return one(ContestTurn(number, its_go, its_told, follows))

    pid = os.fork()
    if pid == 0:
        _end_as(work)
    os.close(its_go)
    os.close(its_told)
    return Forked(pid, go, told)


def _end_as(work: Callable[[], int]) -> NoReturn:
    """End this process, which was forked, with the status that `work` returns; 1 where it raises."""
    status = 1
    try:
        status = work()
        sys.stdout.flush()
    finally:
        if sys.exc_info()[0]:
            traceback.print_exc()
        os._exit(status)
