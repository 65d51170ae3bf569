"""A link that is lost comes back by itself, and what was under way goes on from where it was."""

import asyncio
import os
import signal
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.errors import HostError, HostErrorKind
from kpd.hosts.host import Host
from kpd.hosts.link import Link
from kpd.hosts.local import Local
from kpd.hosts.reconnect import LinkTiming
from tests.support.hosts.local import at, host, spec, until
from tests.support.hosts.reconnect import Shaky, cut
from tests.support.patience import PATIENCE_S

__all__ = ["host"]

COUNTING = """
echo ran >> "$TMPDIR/../../count"
i=0; while [ $i -lt 60 ]; do echo line $i; echo err $i >&2; i=$((i+1)); sleep 0.02; done
"""
LINES = b"".join(b"line %d\n" % n for n in range(60))


async def test_a_job_is_followed_from_the_last_byte_seen_and_runs_once(host: Host) -> None:
    seen = {"stdout": b"", "stderr": b""}

    def keep(stream: str, data: bytes) -> None:
        seen[stream] += data

    job = asyncio.create_task(host.job(spec("a", COUNTING), keep))
    for line in (b"line 5", b"line 20", b"line 40"):
        await until(lambda line=line: line in seen["stdout"])
        await until(lambda: host.up)
        await cut(host)
    result = await job
    assert result.stdout == seen["stdout"] == LINES
    assert result.stderr == seen["stderr"] == LINES.replace(b"line", b"err")
    assert at(host, "count").read_text() == "ran\n"
    assert (result.rc, result.reason) == (0, "")


@pytest.mark.parametrize("kind", ["unreachable", "helper_died"])
async def test_what_time_heals_is_tried_again(tmp_path: Path, kind: HostErrorKind) -> None:
    host = Host("box", PurePosixPath(tmp_path), Shaky(kind, 2))
    told = []
    host.on_link(lambda: told.append(host.up))
    waits = asyncio.create_task(host.connect())
    await until(lambda: host.tries == 1)
    assert host.trouble is not None and host.trouble.kind == kind and not waits.done()
    host.retry_now()
    await waits
    assert host.up and told == [False, False, True]
    await host.close()


async def test_a_job_is_not_followed_on_another_machine(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kpd.hosts.linked.BOOT", f"cat {tmp_path}/boot")
    (tmp_path / "boot").write_text("one")
    await cut(host)
    assert await host.run("true", PATIENCE_S)
    started = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", "echo; sleep 30"), lambda *_: started.set()))
    await started.wait()
    (tmp_path / "boot").write_text("two")
    await cut(host)
    with pytest.raises(HostError, match="restarted, or is another machine") as caught:
        await job
    assert caught.value.kind == "unreachable"
    assert await host.kill("a")


async def test_a_host_that_never_answers_is_unreachable(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    host = Host("box", PurePosixPath(tmp_path), Local(str(python)), pace=LinkTiming(connect_s=0.2))
    host.start()
    await host.tried(0)
    assert host.trouble is not None and host.trouble.kind == "unreachable" and "0.2 s" in host.trouble.message
    await host.close()


async def test_a_frozen_helper_is_noticed(tmp_path: Path) -> None:
    channel = await Local().open()
    link = Link("box", channel, heartbeat_s=0.05, patience_s=0.5)
    await link.start()
    await link.ask("hello", root=str(tmp_path))
    await until(lambda: link.rtt_s is not None)
    os.kill(channel.pid, signal.SIGSTOP)
    with pytest.raises(HostError, match="no sign of life") as caught:
        await link.ask("running")
    assert caught.value.kind == "unreachable" and not link.up
    await link.close()


class SlowWriter:
    """Takes 256 KiB in 50 ms."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await asyncio.sleep(0.05)
        await self._writer.drain()


async def test_a_long_upload_is_not_taken_for_a_dead_link(tmp_path: Path) -> None:
    channel = await Local().open()
    channel.writer, writer = SlowWriter(channel.writer), channel.writer
    link = Link("box", channel, heartbeat_s=0.05, patience_s=0.3)
    await link.start()
    await link.ask("hello", root=str(tmp_path))
    upload = asyncio.create_task(link.ask("put", bytes(8 << 20), blobs=[]))
    await asyncio.sleep(0.1)
    upload.cancel()  # half of a message would garble the next one
    assert (await link.ask("running")).fields == {"jobs": []}
    assert link.up
    channel.writer = writer
    await link.close()
