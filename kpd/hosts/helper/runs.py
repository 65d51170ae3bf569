"""Runs short commands without a folder or supervisor. Only for commands that may run twice."""

import contextlib
import functools
import os
import selectors
import signal
from typing import Dict  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.hosts.helper.children import DIE_WITH_PARENT, fail, prctl
from kpd.hosts.helper.folder import base_environment
from kpd.hosts.helper.wire import Wire

MOST = 1 << 20  # the most bytes of each stream in an answer
CHUNK = 64 << 10
STREAMS = (1, 2)
STATUS = 3  # the shell's descriptor for the script's exit status: the helper does not wait for its children
SHELL = '(eval "$0") 3>&-; echo $? >&3'

Ends = Dict[int, int]  # noqa: UP006 - evaluated under Python 3.6 too: the script's descriptor to ours


class ShortCommand:
    """One command that runs: its process group, and its output so far."""

    def __init__(self, request: int, group: int, ends: Ends) -> None:
        self.request = request
        self.group = group
        self.ends = ends
        self.said = dict.fromkeys(ends, b"")

    def read(self, descriptor: int) -> int:
        """Read what output there is; return 1 for some, 0 for none now, -1 at the end."""
        try:
            data = os.read(self.ends[descriptor], CHUNK)
        except BlockingIOError:
            return 0
        self.said[descriptor] += data[: MOST - len(self.said[descriptor])]
        return 1 if data else -1


class ShortCommands:
    """The short commands of one pipe. A command ends with its shell, its time limit, or the helper."""

    def __init__(self, wire: Wire, selector: selectors.BaseSelector) -> None:
        self.wire = wire
        self.selector = selector

    def op_run(self, request: int, body: bytes, limit_s: float) -> None:
        pipes = {descriptor: os.pipe() for descriptor in (*STREAMS, STATUS)}
        group = os.fork()
        if group == 0:
            try:
                become(body, limit_s, {descriptor: writing for descriptor, (_, writing) in pipes.items()})
            finally:  # reached only when something failed
                fail(126)
        with contextlib.suppress(OSError):  # it has done so itself, and may be gone already
            os.setpgid(group, group)
        for reading, writing in pipes.values():
            os.close(writing)
            os.set_blocking(reading, False)
        run = ShortCommand(request, group, {descriptor: reading for descriptor, (reading, _) in pipes.items()})
        for descriptor, reading in run.ends.items():
            self.selector.register(reading, selectors.EVENT_READ, functools.partial(self.stir, run, descriptor))

    def stir(self, run: ShortCommand, descriptor: int, events: int) -> None:
        if descriptor not in run.ends:
            return  # it ended earlier in the same round
        found = run.read(descriptor)
        if descriptor == STATUS and found:
            self.end(run)
        elif found < 0:
            self.close(run, descriptor)

    def end(self, run: ShortCommand) -> None:
        """Kill what is left of a command if it ran out of time, read its last output, and answer the request.

        Its shell has reported how the script ended, or is gone without a report, because its time was over.
        """
        status = run.said[STATUS].strip()
        if not status:
            with contextlib.suppress(OSError):  # nothing of it is left
                os.killpg(run.group, signal.SIGKILL)
        for descriptor in tuple(run.ends):
            while descriptor in STREAMS and len(run.said[descriptor]) < MOST and run.read(descriptor) > 0:
                pass  # what the script wrote last
            self.close(run, descriptor)
        stdout, stderr = (run.said[descriptor] for descriptor in STREAMS)
        reply = {"rc": int(status) if status else None, "stdout": len(stdout)}
        self.wire.send({"id": run.request, "ok": reply}, stdout + stderr)

    def close(self, run: ShortCommand, descriptor: int) -> None:
        reading = run.ends.pop(descriptor)
        self.selector.unregister(reading)
        os.close(reading)


def become(script: bytes, limit_s: float, writing: Ends) -> None:
    """Become the shell of a short command: its own alarm ends it when the time is over, and it ends with the helper."""
    os.setpgid(0, 0)
    prctl(DIE_WITH_PARENT, signal.SIGKILL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):  # ignored signals stay ignored across exec
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, end in writing.items():
        os.dup2(end, descriptor)
    os.execve("/bin/sh", ["/bin/sh", "-c", SHELL, os.fsdecode(script)], base_environment())
