"""A program under a pseudo-terminal of its own: what it writes, and what it is typed."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

COLUMNS, ROWS = 140, 40


class Terminal:
    def __init__(self, child: int, master: int) -> None:
        self.child = child
        self._master = master

    def read(self, seconds: float) -> bytes:
        """What comes next; nothing when nothing comes within so long."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return b""
        try:
            return os.read(self._master, 1 << 16)
        except OSError as err:
            raise SystemExit(f"the program has ended: {err}") from err

    def until(self, wanted: bytes, seconds: float) -> bytes:
        """All that comes until this has."""
        seen, end = b"", time.monotonic() + seconds
        while wanted not in seen:
            if (left := end - time.monotonic()) <= 0:
                raise SystemExit(f"{wanted!r} has not come within {seconds:g} s, but {seen[-400:]!r}")
            seen += self.read(left)
        return seen

    def count(self, seconds: float) -> int:
        """How many bytes come within so long."""
        end, count = time.monotonic() + seconds, 0
        while (left := end - time.monotonic()) > 0:
            count += len(self.read(left))
        return count

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)


@contextmanager
def terminal(command: list[str], columns: int = COLUMNS, rows: int = ROWS) -> Iterator[Terminal]:
    """`command` of this Python, killed at the end."""
    child, master = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        os.execv(sys.executable, [sys.executable, *command])
    try:
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        yield Terminal(child, master)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(master)
