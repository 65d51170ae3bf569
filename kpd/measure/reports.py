"""Reads the reports of a job that runs many processes: one line each, as soon as it is known to be good or tainted."""

import contextlib
import math
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec, OutputChunk
from kpd.hosts.job import JobNotes, Leave, never, processes
from kpd.measure.bench import Say
from kpd.model.codec import CodecError

LONGEST = 16 << 20
"""The most bytes of one report; usually it has about ten thousand."""

TOLD = 300  # characters of the text on how a lease was lost


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line of stdout without its newline, and its start and end there in bytes.

    `taint` names the other processes on the device meanwhile; it is empty when none were seen.
    """

    text: bytes
    start: int
    end: int
    taint: str = ""


class LineReader:
    """A parser that turns a stream of pieces into whole lines. What follows the last newline is not a line yet."""

    def __init__(self) -> None:
        self._start = 0
        self._rest = bytearray()

    def add(self, piece: OutputChunk) -> list[ReportLine]:
        """Return the lines that `piece` completes. Raises CodecError when a line is too long or bytes are missing."""
        if piece.offset != self._start + len(self._rest):
            raise CodecError(f"bytes are missing before {piece.offset}")
        whole, newline, rest = piece.data.rpartition(b"\n")
        found = []
        for text in (bytes(self._rest) + whole).split(b"\n") if newline else ():
            end = self._start + len(text) + 1
            found.append(ReportLine(text, self._start, end))
            self._start = end
        if newline:
            self._rest.clear()
        self._rest += rest
        if len(self._rest) > LONGEST or any(len(line.text) > LONGEST for line in found):
            raise CodecError(f"a line of more than {LONGEST} bytes")
        return found


class DeviceWatch:
    """The other processes on the device, and when they were there, as the supervisor sees them now and then.

    A time here is a size of stdout in bytes. A process that was seen was there at most from the last clear look to the
    next one. So a line is tainted when its process ran in between; that is known only after a look that came later than
    the line, or at once if nobody looks.
    """

    def __init__(self, watched: bool) -> None:
        self.known = 0.0 if watched else math.inf
        self.seen: list[tuple[float, float, str]] = []  # since, until, who
        self.lost = ""  # how the job lost its exclusive lease, in words
        self._notes = JobNotes()

    def add(self, data: bytes) -> None:
        for note in self._notes.add(data):
            match note:
                case {"foreign": [*others], "from": int(since), "to": int(size)}:
                    self._clear_at(since)
                    self.seen.append((since, math.inf, processes(others)))
                    self.known = max(self.known, size)
                case {"clear": int(size)}:
                    self._clear_at(size)
                    self.known = max(self.known, size)
                case {"lost": str(words), "from": int()}:
                    self.lost = words
                case {"unwatched": _}:
                    self.known = math.inf

    def _clear_at(self, size: int) -> None:
        if self.seen and self.seen[-1][1] == math.inf:
            since, _, who = self.seen[-1]
            self.seen[-1] = (since, size, who)

    def judge(self, line: ReportLine) -> ReportLine:
        """Return the line with its taint, if others were on the device while its process ran.

        That includes the process that was running at the next clear look, before it wrote its line.
        """
        for since, until, who in self.seen:
            if line.start <= until and line.end > since:
                return replace(line, taint=f"foreign processes on the device: {who}")
        return line


async def reports(
    host: Host, spec: JobSpec, say: Say | None = None, leave: Leave = never
) -> AsyncGenerator[ReportLine | JobResult]:
    """Yield the job's lines, and at last its result. Closing the generator early ends the job, unless `leave` is true.

    Raises CodecError when the job writes something that is not a report, and HostError: `busy` for a lost lease, as
    soon as that is known. Lines that wait for a look at that moment are not yielded. Closing the generator raises
    `busy`, too, where the lease was lost before the job's end: the supervisor looks at the lock only now and then, so
    lines that were yielded may be from after the loss.
    """
    lines = LineReader()
    watch = DeviceWatch(spec.lease is not None and spec.lease.gpu)
    held: deque[ReportLine] = deque()
    end: JobResult | None = None
    try:
        async with contextlib.aclosing(host.follow(spec, leave)) as pieces:
            async for piece in pieces:
                if isinstance(piece, JobResult):
                    # Processes in the notes have tainted their lines already; a lost lease counts in any case.
                    if piece.taint and (not watch.seen or piece.lease_lost):
                        raise HostError("busy", f"{host.name}: {piece.taint}")
                    watch.known = math.inf
                    end = piece
                elif piece.stream == "notes":
                    watch.add(piece.data)
                    if watch.lost:
                        raise HostError("busy", f"{host.name}: {watch.lost[:TOLD]}")
                elif piece.stream == "stdout":
                    held += lines.add(piece)
                elif say is not None:
                    say(piece.data.decode(errors="replace"))
                while held and held[0].end <= watch.known:
                    yield watch.judge(held.popleft())
    except GeneratorExit:
        if end is None and not leave():
            await host.end(spec.id)
        raise
    assert end is not None, "a job ends with its result or raises"
    yield end
