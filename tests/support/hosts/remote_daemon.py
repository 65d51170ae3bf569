"""A helper of its own for a test, through a bare link: what the far end says, without what `Host` makes of it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

from kpd.hosts.errors import HostError
from kpd.hosts.link import Link, Transport
from kpd.hosts.local import Local
from tests.support.hosts.local import processes_of, until


class Followed:
    """A job that is being followed: what has come of it so far, and at last how it ended."""

    def __init__(self, start: dict[str, int] | None = None) -> None:
        self.data = {"stdout": bytearray(), "stderr": bytearray(), "notes": bytearray()}
        self.start = {"stdout": 0, "stderr": 0, "notes": 0, **(start or {})}
        self.end: dict[str, Any] = {}
        self.task: asyncio.Task[None]

    @property
    def out(self) -> bytes:
        return bytes(self.data["stdout"])

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in bytes(self.data["notes"]).splitlines(keepends=True) if line[-1:] == b"\n"]

    def noted(self, key: str) -> list[dict[str, Any]]:
        return [note for note in self.notes if key in note]

    async def collect(self, link: Link, op: str, body: bytes, fields: dict[str, Any]) -> None:
        async with contextlib.aclosing(link.follow(op, body, **fields)) as frames:
            async for frame in frames:
                if frame.final:
                    self.end = frame.fields
                    return
                stream = frame.fields["stream"]
                assert frame.fields["offset"] == self.start[stream] + len(self.data[stream])  # no gap, nothing twice
                self.data[stream] += frame.body

    async def ended(self) -> dict[str, Any]:
        await self.task
        return self.end

    async def until_noted(self, key: str, value: object = None) -> dict[str, Any]:
        def found() -> bool:
            return self.task.done() or any(value in (None, note[key]) for note in self.noted(key))

        await until(found)
        return next(note for note in self.noted(key) if value in (None, note[key]))


class Far:
    """A helper at `root` that shares `leases` with others."""

    def __init__(self, link: Link, hello: dict[str, Any]) -> None:
        self.link = link
        self.hello = hello
        self.root = Path(hello["root"])
        self.pid: int = hello["pid"]
        self.followed: list[asyncio.Task[None]] = []

    async def ask(self, op: str, body: bytes = b"", **fields: Any) -> dict[str, Any]:
        return (await self.link.ask(op, body, **fields)).fields

    def begin(self, id: str, script: str, lease: dict[str, Any] | None = None, limit_s: float = 30.0) -> Followed:
        body = script.encode()
        fields = {"job": id, "script": len(body), "limit_s": limit_s, "env": {}, "cpus": [], "lease": lease}
        return self._follow(Followed(), "job", body, fields)

    async def run(self, id: str, script: str, lease: dict[str, Any] | None = None, limit_s: float = 30.0) -> Followed:
        job = self.begin(id, script, lease, limit_s)
        await job.ended()
        return job

    def follow(self, id: str, **offsets: int) -> Followed:
        return self._follow(Followed(offsets), "follow", b"", {"job": id, "offsets": offsets})

    def _follow(self, job: Followed, op: str, body: bytes, fields: dict[str, Any]) -> Followed:
        job.task = asyncio.create_task(job.collect(self.link, op, body, fields))
        self.followed.append(job.task)
        return job

    def supervisor(self, id: str) -> int:
        return int((self.root / "jobs" / id / "pgid").read_text().split()[1])


@contextlib.asynccontextmanager
async def far_end(root: Path, leases: Path | None = None, transport: Transport | None = None) -> AsyncIterator[Far]:
    """At the end its jobs are killed, and nothing of it may still run."""
    link = Link("far", await (transport or Local()).open())
    await link.start()
    hello = (await link.ask("hello", root=str(root), leases=str(leases or root / "leases"))).fields
    far = Far(link, hello)
    try:
        yield far
    finally:
        if link.up:
            for job in (await link.ask("running")).fields["jobs"]:
                await link.ask("kill", job=job)
        await link.close()
        for how in await asyncio.gather(*far.followed, return_exceptions=True):
            if isinstance(how, BaseException) and not isinstance(how, HostError):
                raise how
        left = processes_of(PurePosixPath(hello["root"]))
        psutil.wait_procs(left, timeout=3)
        left = processes_of(PurePosixPath(hello["root"]))
        for process in left:
            process.kill()
        assert left == []
        assert not psutil.pid_exists(hello["pid"])
