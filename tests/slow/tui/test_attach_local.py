"""The UI's way to a daemon on this machine: one that is frozen is noticed, and nothing waits for it."""

import asyncio
import contextlib
import signal
from pathlib import Path

import pytest

from kpd import subscription
from kpd.model import codec
from kpd.model.state import State
from kpd.subscription import Client
from kpd.wire import DaemonError
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.tui.attached import Watched
from tests.support.wire.welcome import WELCOME
from tui.model.feed import dialling

__all__ = ["daemon", "workspace"]


async def test_a_daemon_that_is_stopped_is_a_banner_and_comes_back(daemon: RealDaemon) -> None:
    daemon.start()
    assert daemon.process is not None
    async with Watched(dialling(lambda: daemon.workspace.socket)).going() as ui:
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            # More than the socket takes: the connection cannot even be closed in an orderly way.
            asking = [asyncio.create_task(ui.feed.command("steer", text="x" * 200_000)) for _ in range(40)]
            await ui.is_down("silent")
            told = await asyncio.gather(*asking, return_exceptions=True)
            assert all(isinstance(error, DaemonError) for error in told), "whoever waits for an answer is told"
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        await ui.is_up()
        assert (await ui.feed.query("status"))["pid"] == daemon.process.pid


async def test_a_daemon_that_was_stopped_before(daemon: RealDaemon) -> None:
    daemon.start()
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(DaemonError, match="silent"):
            await dialling(lambda: daemon.workspace.socket)()
    finally:
        daemon.process.send_signal(signal.SIGCONT)


async def test_a_long_message_under_way_is_no_silence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "SILENCE_S", 1.0)
    state = State(workspace="x" * 100_000)
    line = b'{"snapshot":' + codec.encode(state) + b"}\n"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(WELCOME % 2)
        await reader.readline()
        writer.write(b'{"id":3,"ok":true,"result":{"seq":0}}\n')
        for start in range(0, len(line), len(line) // 20):
            writer.write(line[start : start + len(line) // 20])
            await asyncio.sleep(0.1)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    listener = await asyncio.start_unix_server(talk, folder / "s")
    async with Client(folder / "s", "test") as client:
        messages = client.messages()
        assert await anext(messages) == state
        with pytest.raises(DaemonError, match="silent"):
            await anext(messages)
    listener.close()
