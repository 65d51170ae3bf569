"""Keeps the last lines that a worker has written to its stderr."""

from __future__ import annotations

import io
import os
from collections import deque

from kpd.measure.python.host.spare import SAID

LINES, LAST = 40, 1 << 16  # lines that are kept, of the last bytes of what was read at once
LONGEST = 300  # characters of a line


class WorkerStderr:
    """The reading end of a worker's stderr. It is to be read while no kernel is timed: who reads it takes a CPU."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._pipe = io.FileIO(descriptor)
        self._said: deque[bytes] = deque(maxlen=LINES)

    @property
    def descriptors(self) -> list[int]:
        """Its descriptor, to wait for; none where the worker has closed it."""
        return [] if self._pipe.closed else [self._pipe.fileno()]

    def listen(self) -> None:
        """Take what has been written, without waiting."""
        if self._pipe.closed:
            return
        said = self._pipe.read(SAID)  # None: there is nothing yet
        if said == b"":
            self._pipe.close()
        self._said.extend(line for line in (said or b"")[-LAST:].splitlines() if line.strip())

    def last(self) -> str:
        """Return the last line."""
        self.listen()
        return self._said[-1].decode(errors="replace").strip()[:LONGEST] if self._said else ""

    def close(self) -> None:
        self._pipe.close()
