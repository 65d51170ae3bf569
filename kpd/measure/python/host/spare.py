"""Forks the processes that will run kernels, before this one knows anything that they must not.

What this process has imported by then, they have, too: torch takes seconds.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from typing import Any, NamedTuple

from kpd.hosts.helper.children import prctl

SHARED_NAME = "kpd-inputs"
DUMPABLE = 4  # an option of Linux's prctl
MOST_ORDER = 1 << 20  # bytes
SAID = 1 << 20  # bytes that it may write to its stderr between two looks, or what the system lets a pipe hold


class Spare(NamedTuple):
    """A process that waits for its order: its number, our end of its socket, and the pipe that is its stderr."""

    pid: int
    line: socket.socket
    errors: int

    def send(self, memory: int, **order: Any) -> None:
        """Have it become a worker (see `worker.main`) with this shared memory."""
        socket.send_fds(self.line, [json.dumps(order).encode()], [memory])

    def end(self) -> None:
        """Kill it."""
        self.line.close()
        os.close(self.errors)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def fork() -> Spare:
    """Fork one. It has none of our descriptors, but its socket.

    What it writes to its stderr waits for nobody: while a kernel is timed, whoever read it would take its CPU.
    """
    mine, theirs = socket.socketpair()
    errors, said = os.pipe()
    os.set_blocking(said, False)
    with contextlib.suppress(OSError):  # a user has as many pages as the system says
        fcntl.fcntl(said, fcntl.F_SETPIPE_SZ, SAID)
    pid = os.fork()
    if pid == 0:
        try:
            _wait(theirs.fileno(), said)
        except BaseException:  # noqa: BLE001 - the parent reads it, and nothing of it may go on here
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(1)
    theirs.close()
    os.close(said)
    return Spare(pid, mine, errors)


def _wait(line: int, said: int) -> None:
    prctl(DUMPABLE, 1)  # its parent reads results out of its memory
    nothing = os.open(os.devnull, os.O_RDWR)
    for taken, number in ((nothing, 0), (nothing, 1), (said, 2)):
        os.dup2(taken, number)
    os.closerange(3, line)
    os.closerange(line + 1, os.sysconf("SC_OPEN_MAX"))
    channel = socket.socket(fileno=line)
    raw, (memory,), _, _ = socket.recv_fds(channel, MOST_ORDER, 1)
    order = json.loads(raw)
    sys.path[:] = order.pop("paths")
    from kpd.measure.python.host.worker import main

    main(channel, memory, **order)


def shared_file(size: int) -> int:
    """Make the file that a worker's inputs lie in, whose name /proc shows."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(SHARED_NAME)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor
