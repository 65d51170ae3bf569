"""The subscribing client against a real server, against none, and against one that behaves badly."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd import subscription
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.messages import Dropped, Heartbeat, Live
from kpd.model import events as e
from kpd.model.fold import fold
from kpd.model.kinds import Told
from kpd.model.state import State
from kpd.subscription import Client
from kpd.wire import PROTOCOL, DaemonError, NoDaemon
from tests.support.daemon.served import Answers, noticed
from tests.support.patience import PATIENCE_S
from tests.support.wire.impostor import impostor
from tests.support.wire.welcome import WELCOME

# ── the cheap end ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_folds_to_the_daemon_s_state(folder: Path, server: Server, journal: EventJournal) -> None:
    journal.emit(e.QueueHeld(Told("x")))
    async with Client(folder / "s", "test") as client:
        state = State()
        async for message in client.messages():
            if isinstance(message, State):
                state = message
                journal.emit(e.QueueReleased("y"))
                journal.emit(noticed("z"))
            elif isinstance(message, e.Event):
                state = fold(state, message)
            if state.seq == 3:
                break
        assert state == journal.state


async def test_a_client_goes_on_where_another_stopped(folder: Path, server: Server, journal: EventJournal) -> None:
    for n in range(4):
        journal.emit(noticed(str(n)))
    async with Client(folder / "s", "test") as client:
        messages = client.messages(after=2)
        seen = [await anext(messages), await anext(messages)]
    assert seen == list(journal.events(after=2))


async def test_questions_are_answered_while_messages_are_read(
    folder: Path, server: Server, journal: EventJournal
) -> None:
    async with Client(folder / "s", "test") as client:
        messages = client.messages()
        await anext(messages)
        journal.emit(noticed("x"))
        found = await asyncio.gather(*(client.query("echo", n=n) for n in range(50)), client.command("stop"))
        assert found == [*({"n": n} for n in range(50)), {"done": "stop"}]
        assert isinstance(await anext(messages), e.Event)


async def test_connect_says_who_is_there(folder: Path, server: Server) -> None:
    client = Client(folder / "s", "test", read_only=True)
    welcome = await client.connect()
    assert (welcome.pid, welcome.read_only, welcome.protocol) == (os.getpid(), True, PROTOCOL)
    with pytest.raises(DaemonError, match="may only read"):
        await client.command("stop")
    await client.close()


async def test_no_daemon_to_connect_to(folder: Path) -> None:
    with pytest.raises(NoDaemon):
        await Client(folder / "s", "test").connect()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(folder / "s"))
    with pytest.raises(NoDaemon):
        await Client(folder / "s", "test").connect()


async def test_an_older_daemon_s_refusal_reaches_the_client(folder: Path) -> None:
    refusal = b'{"id":null,"ok":false,"error":{"code":"protocol","message":"this daemon is kpd 0.0 with protocol 0"}}\n'
    async with impostor(folder / "s", refusal, close=True):
        with pytest.raises(DaemonError, match=r"kpd 0\.0 with protocol 0"):
            await Client(folder / "s", "test").connect()


async def test_closing_ends_the_messages(folder: Path, server: Server) -> None:
    client = Client(folder / "s", "test")
    await client.connect()
    seen = []
    begun = asyncio.Event()

    async def read() -> None:
        async for message in client.messages():
            seen.append(message)
            begun.set()

    reading = asyncio.create_task(read())
    await begun.wait()
    await client.close()
    await asyncio.wait_for(reading, PATIENCE_S)
    assert seen == [State()]


async def test_a_daemon_that_stops_says_so(folder: Path, journal: EventJournal, answers: Answers) -> None:
    async with Server(folder / "s", journal, answers.query, answers.command):
        client = Client(folder / "s", "test")
        await client.connect()
        messages = client.messages()
        await anext(messages)
        asking = asyncio.create_task(client.command("slow"))
        await answers.started.wait()
        asyncio.get_running_loop().call_later(0.05, answers.release.set)
    assert await asking == {"done": "slow"}
    for told in (lambda: anext(messages), lambda: client.query("echo")):
        with pytest.raises(DaemonError, match="the daemon has stopped"):
            await told()
    await client.close()


async def test_a_daemon_that_is_killed_is_noticed_by_all_who_wait(folder: Path) -> None:
    program = """
        import asyncio, sys
        from pathlib import Path
        from kpd.daemon.journal import EventJournal
        from kpd.daemon.server import Server
        from kpd.daemon.store import EventStore

        async def never(*asked):
            await asyncio.Event().wait()

        async def main(folder):
            async with Server(folder / "s", EventJournal(EventStore(folder / "d.db")), never, never):
                print("ready", flush=True)
                await asyncio.Event().wait()

        asyncio.run(main(Path(sys.argv[1])))
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", textwrap.dedent(program), str(folder), stdout=subprocess.PIPE
    )
    assert child.stdout is not None and await child.stdout.readline() == b"ready\n"
    async with Client(folder / "s", "test") as client:
        messages = client.messages()
        assert await anext(messages) == State()
        asking = asyncio.create_task(client.query("status"))
        await asyncio.sleep(0)
        child.send_signal(signal.SIGKILL)
        with pytest.raises(DaemonError, match=r"ended the connection|lost"):
            await asking
        with pytest.raises(DaemonError, match=r"ended the connection|lost"):
            await anext(messages)
    await child.wait()
    with pytest.raises(NoDaemon):
        await Client(folder / "s", "test").connect()


async def test_a_silent_daemon_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "SILENCE_S", 0.05)
    async with (
        impostor(folder / "s", WELCOME % 2, b'{"id":3,"ok":true,"result":{"seq":0}}\n{"beat":0}\n'),
        Client(folder / "s", "test") as client,
    ):
        messages = client.messages()
        assert await anext(messages) == Heartbeat(0)
        with pytest.raises(DaemonError, match="silent"):
            await anext(messages)


async def test_who_waits_for_an_answer_when_the_client_is_closed_learns_that_it_may_be_done(folder: Path) -> None:
    async with impostor(folder / "s", WELCOME % 2):
        client = Client(folder / "s", "test")
        await client.connect()
        asked = asyncio.create_task(client.command("steer", text="x"))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(DaemonError, match="no answer has come") as why:
            await asked
        assert "it may be done all the same" in why.value.remedy
        with pytest.raises(DaemonError, match="the connection is closed"):
            await client.command("steer", text="y")


async def test_a_daemon_that_does_not_answer_hello_is_not_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "SILENCE_S", 0.05)
    async with impostor(folder / "s"):
        with pytest.raises(DaemonError, match="silent"):
            await Client(folder / "s", "test").connect()


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"event":{}}\n', b'{"beat":"x"}\n'])
async def test_a_daemon_that_talks_nonsense_is_left(folder: Path, line: bytes) -> None:
    async with impostor(folder / "s", WELCOME % 2, line), Client(folder / "s", "test") as client:
        with pytest.raises(DaemonError, match="not a message"):
            await client.query("status")


async def test_a_reader_that_does_not_come_loses_live_output_only(
    folder: Path, server: Server, journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "MAX_LIVE", 3)
    async with Client(folder / "s", "test") as client:
        messages = client.messages()
        await anext(messages)
        for n in range(10):
            journal.live("build", "r1", 1, str(n))
            journal.emit(noticed(str(n)))
        await client.query("echo")  # by whose answer all of them have arrived
        seen = [await anext(messages) for _ in range(14)]
    assert [message.seq for message in seen if isinstance(message, e.Event)] == list(range(1, 11))
    assert [message.text for message in seen if isinstance(message, Live)] == ["0", "1", "2"]
    assert [message for message in seen if isinstance(message, Dropped)] == [Dropped(7)]


async def test_a_cancelled_question_does_not_disturb_the_next(folder: Path, server: Server, answers: Answers) -> None:
    async with Client(folder / "s", "test") as client:
        asking = asyncio.create_task(client.command("slow"))
        await answers.started.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        answers.release.set()
        assert await client.query("echo", a=1) == {"a": 1}


@pytest.mark.parametrize("use", [lambda client: client.query("x"), lambda client: anext(client.messages())])
async def test_a_client_is_connected_first(folder: Path, use: Callable[[Client], object]) -> None:
    with pytest.raises(DaemonError, match="not connected"):
        await use(Client(folder / "s", "test"))  # type: ignore[misc]
