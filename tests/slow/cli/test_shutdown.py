"""Daemons that end: kpd shutdown says so once the process is gone, and a socket that only accepts is no daemon."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kpd.cli.daemon import listens
from kpd.daemon import system
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.workspace.paths import Workspace
from tests.places import ROOT

IMPATIENT = """
import sys
from kpd.cli import daemon, main
daemon.GONE_WITHIN_S = float(sys.argv[1])
sys.exit(main.main(sys.argv[2:]))
"""


class Ending:
    """A workspace whose daemon takes `shutdown` for an answer, and is the process `pid` that the test ends."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.process = subprocess.Popen(["sleep", "60"])
        self.journal = EventJournal(EventStore(ws.store))
        self.journal.emit(e.DaemonStarted("0.1.0", self.process.pid, str(ws.root)))
        self.asked = asyncio.Event()

    async def query(self, what: str, args: dict[str, Any]) -> Any:
        """What hangs in such a daemon may be all that answers questions."""
        await asyncio.Event().wait()

    async def command(self, verb: str, args: dict[str, Any], by: str) -> Any:
        self.asked.set()
        return {"finishes": [], "pid": self.process.pid}

    async def shutdown(self, patience: float) -> "asyncio.Task[tuple[int | None, str]]":
        """The command's exit code and words to come, once it has asked."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", IMPATIENT, str(patience), "-w", str(self.ws.root), "shutdown",
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip

        async def told() -> tuple[int | None, str]:
            _, err = await asyncio.wait_for(process.communicate(), 30)
            return process.returncode, err.decode()

        task = asyncio.create_task(told())
        await asyncio.wait_for(self.asked.wait(), 30)
        return task

    def listening(self) -> Server:
        return Server(self.ws.make_socket_folder(), self.journal, self.query, self.command)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ending]:
    """Nothing listens yet."""
    root = tmp_path / "ws"
    (root / "tasks").mkdir(parents=True)
    (root / "config.toml").touch()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kpd") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        ws = Workspace.find(root)
        ws.make_private()
        made = Ending(ws)
        yield made
        made.journal.close()
        made.end()


@pytest.fixture
async def ending(place: Ending) -> AsyncIterator[Ending]:
    async with place.listening():
        yield place


async def test_the_daemon_has_ended_once_its_process_is_gone(ending: Ending) -> None:
    with system.hold_lock(ending.ws.lock):
        told = await ending.shutdown(patience=20.0)
    await asyncio.sleep(0.5)
    assert not told.done(), "the lock is free, the process is not gone"
    ending.process.kill()  # a dead process that its parent has not asked after is gone, too
    assert await told == (0, "the daemon has ended; the next one goes on with what is left\n")


async def test_a_process_that_hangs_is_named_with_what_ends_it(ending: Ending) -> None:
    code, said = await (await ending.shutdown(patience=0.3))
    assert code == 3
    assert f"something in its process {ending.process.pid} hangs; kill -9 {ending.process.pid} ends it" in said
    assert "has ended" not in said


async def test_a_lock_that_somebody_removed_is_nobody_s(ending: Ending) -> None:
    assert not ending.ws.lock.exists()
    ending.end()
    assert (await (await ending.shutdown(patience=20.0)))[0] == 0


async def test_a_daemon_that_is_about_to_listen_is_waited_for(place: Ending) -> None:
    with system.hold_lock(place.ws.lock):
        asked = asyncio.create_task(place.shutdown(patience=20.0))
        await asyncio.sleep(0.7)
        assert not asked.done()
        async with place.listening():
            told = await asked
    place.end()
    assert (await told)[0] == 0


async def test_who_accepts_and_ends_the_connection_does_not_listen_who_is_silent_does(place: Ending) -> None:
    with socket.socket(socket.AF_UNIX) as dying:
        dying.bind(str(place.ws.make_socket_folder()))
        dying.listen()
        asked = asyncio.create_task(asyncio.to_thread(listens, place.ws))
        connection, _ = await asyncio.to_thread(dying.accept)
        connection.close()
        assert not await asked
        assert await asyncio.to_thread(listens, place.ws), "a daemon that is stopped says nothing"
    async with place.listening():
        assert await asyncio.to_thread(listens, place.ws)
