"""The remote part of an iteration, by the engine's own steps, over a transport that notes every request."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from kpd.agents.catalogue import make_agent
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine import steps
from kpd.engine.attempt import Attempt
from kpd.engine.control import Control
from kpd.hosts.bundle import bundle
from kpd.hosts.channel import Channel, Reader, Writer
from kpd.hosts.errors import HostKey
from kpd.hosts.helper.wire import LENGTHS
from kpd.hosts.host import Host
from kpd.hosts.job import job_times
from kpd.hosts.link import Transport
from kpd.measure.bench import Bench
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.detail import Detail
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.task import Task

PARTS = {"stage": steps.stage, "build": steps.build, "check": steps.check, "time": steps.time}


class Counted:
    """A transport whose every request is noted in `asked`, by its op. A request is a round trip, if anybody waits."""

    def __init__(self, inner: Transport) -> None:
        self.asked: list[str] = []
        self._inner = inner

    @property
    def kind(self) -> str:
        return self._inner.kind

    async def open(self) -> Channel:
        return _Channel(await self._inner.open(), self.asked)

    async def trust(self, key: HostKey) -> None:
        await self._inner.trust(key)

    async def close(self) -> None:
        await self._inner.close()

    @contextlib.contextmanager
    def waited_for(self) -> Iterator[list[str]]:
        """The requests that the block makes, at its end, without those that only show that the link lives."""
        found: list[str] = []
        begun = len(self.asked)
        yield found
        found += [op for op in self.asked[begun:] if op != "ping"]


class _Channel:
    def __init__(self, inner: Channel, asked: list[str]) -> None:
        self._inner = inner
        self.reader: Reader = inner.reader
        self.writer: Writer = _Writer(inner.writer, asked)

    async def close(self) -> str:
        return await self._inner.close()


class _Writer:
    """What kpd sends: the helper's source, then frames."""

    def __init__(self, inner: Writer, asked: list[str]) -> None:
        self._inner = inner
        self._asked = asked
        self._source = len(bundle())
        self._sent = bytearray()

    def write(self, data: bytes) -> None:
        self._inner.write(data)
        of_source = min(len(data), self._source)
        self._source -= of_source
        self._sent += data[of_source:]
        while len(self._sent) >= LENGTHS.size:
            head, body = LENGTHS.unpack_from(self._sent)
            if len(self._sent) < LENGTHS.size + head + body:
                return
            self._asked.append(json.loads(self._sent[LENGTHS.size : LENGTHS.size + head])["op"])
            del self._sent[: LENGTHS.size + head + body]

    async def drain(self) -> None:
        await self._inner.drain()


class Iterations:
    """A run whose iterations are proposed by the caller; iteration 0 is the incumbent of all others."""

    def __init__(self, folder: Path, host: Host, bench: Bench, task: Task, run: str = "r1") -> None:
        self._workspace = Workspace(folder)
        self._workspace.make_private()
        self._journal = EventJournal(EventStore(self._workspace.store))
        self._host, self._bench, self._task, self._run = host, bench, task, run
        self._journal.emit(e.RunQueued(run, task.name, "sweep", host.name, Budget()))
        self._journal.emit(e.RunStarted(run, "a CPU", host.name, "cpu"))
        self._count = 0
        job_times.set([])

    def attempt(self, files: Mapping[str, bytes]) -> Attempt:
        number, self._count = self._count, self._count + 1
        self._journal.emit(e.IterationStarted(self._run, number, "sweep", 0))
        config = Config()
        at = Attempt(
            self._workspace, config, self._journal, Control(self._journal, self._run), self._host, self._bench,
            make_agent("sweep", config), self._task, self._task.folder, self._run, number, prepare=self._prepared,
        )  # fmt: skip
        at.folder.write_candidate(files)
        return at

    async def _prepared(self) -> Bench:
        return self._bench

    def close(self) -> None:
        self._journal.close()


async def remote_part(attempt: Attempt) -> dict[str, float]:
    """Stage, build, check, time; the seconds of each. Raises Fault, HostError."""
    seconds = {}
    for name, step in PARTS.items():
        begun = time.perf_counter()
        await step(attempt, Detail())
        seconds[name] = time.perf_counter() - begun
    return seconds
