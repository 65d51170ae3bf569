"""Encodes the frames between kpd and its helper: two lengths, a JSON header, raw bytes. Used by both ends."""

import collections
import json
import os
import struct
from typing import Any, Dict  # noqa: UP035 - evaluated under Python 3.6 too

GREETING = b"\0kpd-helper 1\n"  # anything before it is a login shell's output
LENGTHS = struct.Struct(">II")  # of the JSON header and of the raw bytes behind it
MAX_BODY = 64 << 20
MAX_FRAME = 2 * MAX_BODY
KEPT = 32 << 20  # bytes of a job's stream that are sent: of a longer one, only the last

Header = Dict[str, Any]  # noqa: UP006 - evaluated under Python 3.6 too


def pack(header: Header, body: bytes = b"") -> bytes:
    raw = json.dumps(header).encode()
    return LENGTHS.pack(len(raw), len(body)) + raw + body


class Wire:
    """Frames over two descriptors. Reading takes what is there; writing never blocks."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.inbox = bytearray()
        self.outbox = collections.deque()  # type: collections.deque[memoryview]
        self.waiting = 0  # bytes in the outbox
        os.set_blocking(sink, False)

    def receive(self) -> "list[tuple[Header, bytes]] | None":
        """Return the complete frames that have arrived, or None when the near side is gone."""
        data = os.read(self.source, 1 << 20)
        if not data:
            return None
        self.inbox += data
        frames = []
        while len(self.inbox) >= LENGTHS.size:
            head, body = LENGTHS.unpack_from(self.inbox)
            end = LENGTHS.size + head + body
            if end > MAX_FRAME:
                raise SystemExit(f"a frame of {end} bytes is over the limit")
            if len(self.inbox) < end:
                break
            header = json.loads(self.inbox[LENGTHS.size : LENGTHS.size + head].decode())
            frames.append((header, bytes(self.inbox[LENGTHS.size + head : end])))
            del self.inbox[:end]
        return frames

    def send(self, header: Header, body: bytes = b"") -> None:
        self.send_raw(pack(header, body))

    def send_raw(self, data: bytes) -> None:
        self.outbox.append(memoryview(data))
        self.waiting += len(data)
        self.flush()

    def flush(self) -> None:
        """Write as much of the outbox as the pipe takes."""
        while self.outbox:
            try:
                sent = os.write(self.sink, self.outbox[0])
            except BlockingIOError:
                return
            self.waiting -= sent
            self.outbox[0] = self.outbox[0][sent:]
            if not self.outbox[0]:
                self.outbox.popleft()
