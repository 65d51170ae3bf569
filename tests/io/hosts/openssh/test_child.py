"""A child's pipes: its end, its last words, and that no close waits for ever."""

import asyncio
import signal

import psutil
import pytest

from kpd.hosts.child import KEPT, MOST, ChildChannel, OutputFlood
from tests.support.hosts.openssh_child import ENV


async def test_bytes_status_and_last_words() -> None:
    script = f"head -c {2 * KEPT} /dev/zero | tr '\\0' x >&2; echo end >&2; cat; exit 3"
    child = await ChildChannel.start("sh", "-c", script, env=ENV)
    child.writer.write(b"through")
    await child.writer.drain()
    assert await child.reader.readexactly(7) == b"through" and child.status is None
    words = await child.close()
    assert child.status == 3 and words.endswith("xend") and len(words) < KEPT
    assert await child.close() == words


async def test_a_child_that_floods_its_stderr_is_killed() -> None:
    child = await ChildChannel.start("sh", "-c", f"head -c {MOST // 2} /dev/zero >&2; cat", env=ENV)
    child.writer.write(b"x")
    assert await child.reader.readexactly(1) == b"x"
    await child.close()
    assert child.status == 0
    child = await ChildChannel.start("sh", "-c", "exec yes 3>&1 >&2", env=ENV)
    with pytest.raises(OutputFlood):
        await child.reader.read(1)
    with pytest.raises(OutputFlood):
        await child.reader.readexactly(1)
    await child.close()
    assert child.status == -signal.SIGKILL


async def test_a_start_that_is_given_up_leaves_no_process() -> None:
    starting = asyncio.create_task(ChildChannel.start("sleep", "60", env=ENV))
    await asyncio.sleep(0)  # it has begun
    await asyncio.sleep(0)  # and so has its process
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not any(child.name() == "sleep" for child in psutil.Process().children())


async def test_a_program_that_is_absent_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        await ChildChannel.start("/absent/program", env=ENV)
