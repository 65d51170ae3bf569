"""A child's pipes: its end, its last words, and that no close waits for ever."""

import asyncio
import os
import signal

from kpd.hosts.child import ChildChannel
from tests.support.hosts.local import alive
from tests.support.hosts.openssh_child import ENV


async def test_a_frozen_child_is_ended_while_its_pipe_is_read() -> None:
    child = await ChildChannel.start("cat", env=ENV)
    reading = asyncio.create_task(child.reader.read(1))
    await asyncio.sleep(0)
    os.kill(child.pid, signal.SIGSTOP)
    await child.close()
    assert child.status == -signal.SIGKILL and await reading == b""


async def test_a_close_does_not_wait_for_another_process_that_holds_the_pipes() -> None:
    child = await ChildChannel.start("sh", "-c", "sleep 60 & echo $! said >&2; echo; exec cat", env=ENV)
    await child.reader.readexactly(1)
    pid, said = (await child.close()).split()
    assert said == "said" and alive(int(pid))
    os.kill(int(pid), signal.SIGKILL)
    await child.close()
