"""Reads a job's output from any byte on, as fast as the pipe takes it."""

import contextlib
import os
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.folder import NOTES, STREAMS
from kpd.hosts.helper.wire import KEPT, Wire

CHUNK = 256 << 10
OUTBOX = 1 << 20  # output is read from its file only while less than this waits for the pipe


class Follower:
    """The reading of a job's output for one request, from these offsets on.

    Of a longer stream it reads only the last KEPT bytes.
    """

    def __init__(self, request: int, folder: Path, cached: bool, offsets: "dict[str, int]") -> None:
        self.request = request
        self.folder = folder
        self.cached = cached
        self.ended = cached
        self.offsets = {}  # type: dict[str, int]
        self.files = {}  # type: dict[str, int]
        for name in (NOTES, *STREAMS):
            self.offsets[name] = int(offsets.get(name, 0))
            if self.offsets[name] < 0:
                raise RequestRefused("refused", "an offset must not be negative")
        with contextlib.ExitStack() as failed:
            failed.callback(self.close)
            for name in (NOTES, *STREAMS):
                try:
                    self.files[name] = os.open(str(folder / name), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
                except FileNotFoundError:
                    if name != NOTES:  # a job without a lease has none
                        raise
            failed.pop_all()

    def pump(self, wire: Wire) -> "tuple[bool, bool]":
        """Send what output there is, as far as the pipe takes it; return (something was sent, nothing is left)."""
        moved = False
        for name, file in self.files.items():
            size = os.fstat(file).st_size
            self.offsets[name] = max(self.offsets[name], size - KEPT)
            while self.offsets[name] < size:
                if wire.waiting > OUTBOX:
                    return moved, False
                data = os.pread(file, CHUNK, self.offsets[name])
                if not data:
                    break  # the job has truncated its own output
                wire.send({"id": self.request, "stream": name, "offset": self.offsets[name]}, data)
                self.offsets[name] += len(data)
                moved = True
        return moved, True

    def close(self) -> None:
        for file in self.files.values():
            os.close(file)
