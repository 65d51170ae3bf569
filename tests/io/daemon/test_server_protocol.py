"""Who may speak to the daemon, in which order, and what becomes of those who do otherwise."""

import asyncio
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kpd import __version__
from kpd.daemon import server as server_module
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import MAX_OPEN, Server
from kpd.daemon.system import peer
from kpd.wire import MAX_REQUEST, PROTOCOL
from tests.support.daemon.served import Answers, noticed, raw

pytestmark = pytest.mark.usefixtures("server")


async def test_hello_says_who_the_daemon_is(folder: Path, journal: EventJournal) -> None:
    journal.emit(noticed("x"))
    async with raw(folder, hello=False) as client:
        reply = await client.hello(read_only=True)
        assert (reply["id"], reply["ok"]) == (1, True)
        expected = {"version": __version__, "pid": os.getpid(), "read_only": True, "seq": 1, "protocol": PROTOCOL}
        assert reply["result"] == {"workspace": "", **expected}


@pytest.mark.parametrize("protocol", [PROTOCOL + 1, 0])
async def test_another_protocol_is_refused_naming_both_versions(folder: Path, protocol: int) -> None:
    async with raw(folder, hello=False) as client:
        refusal = await client.hello(protocol=protocol)
        assert refusal["error"]["code"] == "protocol"
        for named in (f"kpd {__version__} with protocol {PROTOCOL}", f"kpd 9.9 with protocol {protocol}"):
            assert named in refusal["error"]["message"]
        assert refusal["error"]["remedy"]
        assert await client.read() is None


async def test_hello_comes_first_and_once(folder: Path) -> None:
    async with raw(folder, hello=False) as client:
        client.send(id=1, op="query", what="echo")
        assert "hello" in (await client.read())["error"]["message"]
        assert await client.read() is None
    async with raw(folder) as client:
        assert "already" in (await client.hello())["error"]["message"]
        assert await client.read() is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"GET / HTTP/1.1\r\n", "not a message"),
        (b"\n", "not a message"),
        (b"[]\n", "not a message"),
        (b"null\n", "not a message"),
        (b'{"id": 2}\n', "op"),
        (b'{"id": 2, "op": "dance"}\n', "dance"),
        (b'{"id": 2, "op": "query"}\n', "what"),
        (b'{"id": "two", "op": "query", "what": "echo"}\n', "id"),
        (b'{"id": 2, "op": "query", "what": "echo", "args": 3}\n', "args"),
        (b'{"id": 2, "op": "query", "what": "\xff"}\n', "not a message"),
        (b"[" * 200_000 + b"\n", "not a message"),
        (b"x" * (MAX_REQUEST + 1) + b"\n", f"{MAX_REQUEST} bytes at most"),
        (b"x" * (3 * MAX_REQUEST), f"{MAX_REQUEST} bytes at most"),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else "",
)
@pytest.mark.parametrize("hello", [True, False])
async def test_a_line_that_is_no_message_is_answered_and_ends_the_connection(
    folder: Path, line: bytes, says: str, hello: bool
) -> None:
    async with raw(folder) as neighbour, raw(folder, hello) as client:
        client.writer.write(line)
        refusal = await client.read()
        assert (refusal["id"], refusal["ok"], refusal["error"]["code"]) == (None, False, "protocol")
        assert says in refusal["error"]["message"]
        assert await client.read() is None
        neighbour.send(id=5, op="query", what="echo", args={"a": 1})
        assert (await neighbour.read())["result"] == {"a": 1}


async def test_the_largest_line_that_is_allowed_passes(folder: Path) -> None:
    frame = len(b'{"id": 2, "op": "query", "what": "echo", "args": {"text": ""}}\n')
    text = "x" * (MAX_REQUEST - frame)
    async with raw(folder) as client:
        client.send(id=2, op="query", what="echo", args={"text": text})
        assert (await client.read())["result"] == {"text": text}


async def test_a_client_killed_in_mid_message_harms_nobody(folder: Path, journal: EventJournal) -> None:
    program = """
        import os, signal, socket, sys
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
        s.sendall(b'{"id":1,"op":"hello","protocol":1}\\n{"id":2,"op":"subscribe"}\\n{"id":3,"op":"query","wha')
        s.recv(10)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    async with raw(folder) as neighbour:
        neighbour.send(id=2, op="subscribe")
        await neighbour.read()
        await neighbour.read()
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", textwrap.dedent(program), str(folder / "s"))
        assert await child.wait() == -9
        for n in range(3):
            journal.emit(noticed(str(n)))
        assert [(await neighbour.read())["event"]["seq"] for _ in range(3)] == [1, 2, 3]


async def test_who_says_nothing_is_sent_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HELLO_S", 0.05)
    async with raw(folder, hello=False) as client:
        assert "no hello" in (await client.read())["error"]["message"]
        assert await client.read() is None


async def test_answers_carry_the_number_of_their_question(folder: Path, answers: Answers) -> None:
    async with raw(folder) as client:
        client.send(id=7, op="command", verb="slow", args={"n": 1})
        client.send(id=8, op="query", what="echo", args={"n": 2})
        assert (await client.read())["id"] == 8
        answers.release.set()
        assert await client.read() == {"id": 7, "ok": True, "result": {"done": "slow"}}
        assert answers.finished == [("slow", {"n": 1}, "raw")]


async def test_more_questions_than_may_be_open_are_all_answered(folder: Path, answers: Answers) -> None:
    async with raw(folder) as client:
        for number in range(2, 2 + 3 * MAX_OPEN):
            client.send(id=number, op="command", verb="slow")
        await asyncio.wait_for(answers.started.wait(), 10)
        answers.release.set()
        assert {(await client.read())["id"] for _ in range(3 * MAX_OPEN)} == set(range(2, 2 + 3 * MAX_OPEN))


@pytest.mark.parametrize(
    ("what", "code", "says"),
    [
        ("missing", "unknown", "no such thing"),
        ("defect", "internal", "ZeroDivisionError: a defect"),
        ("set", "internal", "TypeError"),
    ],
)
async def test_an_error_is_an_answer_and_the_connection_goes_on(folder: Path, what: str, code: str, says: str) -> None:
    async with raw(folder) as client:
        client.send(id=2, op="query", what=what)
        refusal = await client.read()
        assert (refusal["id"], refusal["error"]["code"]) == (2, code)
        assert says in refusal["error"]["message"]
        client.send(id=3, op="query", what="echo")
        assert (await client.read())["ok"]


async def test_a_client_that_may_only_read_commands_nothing(folder: Path, answers: Answers) -> None:
    async with raw(folder, hello=False) as client:
        await client.hello(read_only=True)
        client.send(id=2, op="command", verb="stop")
        assert (await client.read())["error"]["code"] == "refused"
        client.send(id=3, op="query", what="echo", args={"x": 1})
        assert (await client.read())["result"] == {"x": 1}
    assert answers.finished == []


async def test_a_command_has_its_effect_even_when_its_client_is_gone(folder: Path, answers: Answers) -> None:
    async with raw(folder) as client:
        client.send(id=2, op="command", verb="slow")
        await asyncio.wait_for(answers.started.wait(), 10)
    async with raw(folder) as other:  # by when the server has seen the first one go
        other.send(id=2, op="query", what="echo")
        await other.read()
        answers.release.set()
        other.send(id=3, op="command", verb="quick")
        await other.read()
    assert [verb for verb, _args, _by in answers.finished] == ["slow", "quick"]


def test_the_kernel_tells_who_is_there() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert peer(one) == (os.getpid(), os.getuid())


@pytest.fixture
def open_to_all(folder: Path, server: Server) -> None:
    folder.chmod(0o755)
    (folder / "s").chmod(0o666)


@pytest.mark.skipif(os.getuid() != 0, reason="only the administrator can play another user")
@pytest.mark.usefixtures("open_to_all")
async def test_another_user_is_refused(folder: Path) -> None:
    program = """
        import os, socket, sys
        s = socket.socket(socket.AF_UNIX)
        os.setuid(65534)
        s.connect(sys.argv[1])
        sys.stdout.write(s.makefile().readline())
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", textwrap.dedent(program), str(folder / "s"), stdout=subprocess.PIPE
    )
    said, _ = await child.communicate()
    assert b'"refused"' in said
    assert b"not user 65534" in said


async def test_leaving_says_goodbye_after_the_last_answer(
    folder: Path, journal: EventJournal, answers: Answers
) -> None:
    async with Server(folder / "s", journal, answers.query, answers.command):
        reader, writer = await asyncio.open_unix_connection(folder / "s")
        writer.write(b'{"id":1,"op":"hello","protocol":1}\n{"id":2,"op":"command","verb":"slow"}\n')
        await asyncio.wait_for(answers.started.wait(), 10)
        asyncio.get_running_loop().call_later(0.05, answers.release.set)
    lines = (await reader.read()).splitlines()
    writer.close()
    assert b'"done":"slow"' in lines[1]
    assert b"the daemon has stopped" in lines[2]
    assert len(lines) == 3
