"""A link that is lost comes back by itself, and what was under way goes on from where it was."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.channel import Channel
from kpd.hosts.errors import HostError, HostErrorKind
from kpd.hosts.host import Host, OutputChunk
from kpd.hosts.job import JobNotes, JobResult, waiting
from kpd.hosts.link import Link
from kpd.hosts.local import Local
from tests.support.hosts.local import at, helper_pid, host, spec, until
from tests.support.hosts.reconnect import Shaky, cut

__all__ = ["host"]


async def test_a_request_waits_for_the_link_to_come_back(host: Host) -> None:
    first = helper_pid(host)
    await cut(host)
    assert host.trouble is not None and host.trouble.kind == "helper_died"
    assert await host.running() == []
    assert host.up and host.trouble is None and helper_pid(host) != first


async def test_a_job_that_ended_while_the_link_was_down_is_read_from_its_folder(host: Host) -> None:
    started = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", "echo one; sleep 0.3; echo two; exit 7"), lambda *_: started.set()))
    await started.wait()
    transport, host._keeper.transport = host._keeper.transport, Shaky("unreachable", 1)
    await cut(host)
    await until(lambda: at(host, "jobs/a/rc").exists())
    host._keeper.transport = transport
    host.retry_now()
    result = await job
    assert (result.rc, result.stdout) == (7, b"one\ntwo\n")


async def test_a_host_that_forgot_a_job_it_had_begun_is_not_told_to_begin_again(host: Host) -> None:
    started = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", "echo ran >&2; sleep 30"), lambda *_: started.set()))
    await started.wait()
    host._keeper.transport, transport = Shaky("unreachable", 1000), host._keeper.transport
    await cut(host)
    supervisor = int(at(host, "jobs/a/pgid").read_text().split()[1])
    os.kill(supervisor, signal.SIGTERM)
    await until(lambda: at(host, "jobs/a/rc").exists())
    at(host, "jobs/a").rename(at(host, "elsewhere"))
    host._keeper.transport = transport
    host.retry_now()
    with pytest.raises(HostError) as caught:
        await job
    assert caught.value.kind == "not_found"
    assert await host.running() == [] and not at(host, "jobs/a").exists()


@pytest.mark.parametrize("kind", ["auth", "host_key", "no_python", "config"])
async def test_what_needs_a_person_is_raised_and_waits_for_a_nudge(tmp_path: Path, kind: HostErrorKind) -> None:
    host = Host("box", PurePosixPath(tmp_path), Shaky(kind, 2))
    with pytest.raises(HostError) as caught:
        await host.connect()
    assert caught.value.kind == kind
    await asyncio.sleep(0.05)
    assert host.tries == 1
    with pytest.raises(HostError):
        await host.running()
    with pytest.raises(HostError):
        await host.connect()  # which is a nudge
    await host.connect()
    assert host.up and host.tries == 3
    await host.close()


async def test_a_link_that_has_been_up_is_waited_for_whatever_keeps_it_down(host: Host) -> None:
    transport, host._keeper.transport = host._keeper.transport, Shaky("auth", 1000)
    await cut(host)
    asked = asyncio.create_task(host.running())
    await until(lambda: host.tries == 2)
    assert not asked.done() and host.trouble is not None and host.trouble.kind == "auth"
    host._keeper.transport = transport
    host.retry_now()
    assert await asked == []


async def test_a_job_given_up_while_the_link_is_down_is_ended_when_it_is_back(host: Host) -> None:
    started = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", "echo; sleep 60"), lambda *_: started.set()))
    await started.wait()
    host._keeper.transport = Shaky("unreachable", 1)
    await cut(host)
    await until(lambda: host.tries == 2)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not at(host, "jobs/a/rc").exists()
    host.retry_now()
    await until(lambda: at(host, "jobs/a/rc").exists())
    assert "killed" in at(host, "jobs/a/rc").read_text()


async def test_closing_a_follower_early_ends_the_job_in_the_background(host: Host) -> None:
    async with contextlib.aclosing(host.follow(spec("a", "echo one; sleep 60"))) as pieces:
        piece = await anext(pieces)
        assert piece == OutputChunk("stdout", 0, b"one\n")
    await until(lambda: at(host, "jobs/a/rc").exists())
    again = [piece async for piece in host.follow(spec("a", "echo one; sleep 60"))]
    assert isinstance(again[-1], JobResult) and (again[-1].reason, again[-1].cached) == ("killed", True)


class SlowChannel:
    """Gives a KiB in 10 ms."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self.writer = inner.writer
        self.close = inner.close

    @property
    def reader(self) -> "SlowChannel":
        return self

    async def read(self, n: int) -> bytes:
        await asyncio.sleep(0.01)
        return await self._inner.reader.read(min(n, 1024))

    async def readexactly(self, n: int) -> bytes:
        await asyncio.sleep(n / 1024 * 0.01)
        return await self._inner.reader.readexactly(n)


async def test_a_long_answer_is_not_taken_for_a_dead_link(tmp_path: Path) -> None:
    link = Link("box", SlowChannel(await Local().open()), heartbeat_s=0.05, patience_s=0.4)
    await link.start()
    await link.ask("hello", root=str(tmp_path))
    answer = await link.ask("run", b"head -c 150000 /dev/zero", limit_s=10.0)
    assert answer.body == bytes(150_000)
    assert link.up
    await link.close()


def test_notes_come_in_pieces_and_nonsense_is_passed_over() -> None:
    notes = JobNotes()
    assert notes.add(b'{"lease": "cpu", "tok') == []
    assert notes.add(b'en": 3}\n[1]\nnonsense\n\xff\n{"waits": "lease"}\n') == [
        {"lease": "cpu", "token": 3},
        {"waits": "lease"},
    ]


def test_what_a_note_says_about_the_wait() -> None:
    assert waiting({"waits": "lease", "holder": "ann@ws"}) == "ann@ws measures on it"
    assert waiting({"waits": "lease", "holder": "ann@ws", "foreign": ""}) == "ann@ws measures on it"
    locked = waiting({"waits": "lease", "holder": "process 7 of user eve", "foreign": "/l/cpu.lock"})
    assert locked == (
        "process 7 of user eve has locked /l/cpu.lock; "
        "if that measures nothing, name another folder as leases in config.toml"
    )
    others = [{"pid": 7, "name": "train"}, "nonsense"]
    assert waiting({"waits": "foreign", "processes": others}) == "other processes compute on it: train (7)"
    assert waiting({"lease": "cpu", "token": 3}) == ""
    assert waiting({"foreign": []}) is None
