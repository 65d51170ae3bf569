"""One question to a daemon, without a subscription: its answer, its refusal, and whoever else listens there."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.client import ask
from kpd.daemon.server import Server
from kpd.subscription import Client
from kpd.wire import MAX_REQUEST, DaemonError, NoDaemon
from tests.support.daemon.served import Answers
from tests.support.wire.impostor import impostor


async def test_ask_gets_an_answer(folder: Path, server: Server, answers: Answers) -> None:
    assert await asyncio.to_thread(ask, folder / "s", "query", "echo", {"a": [1]}) == {"a": [1]}
    assert await asyncio.to_thread(ask, folder / "s", "command", "stop", {"run": "r1"}) == {"done": "stop"}
    assert answers.finished == [("stop", {"run": "r1"}, "cli")]


async def test_ask_gets_the_refusal_with_its_remedy(folder: Path, server: Server) -> None:
    with pytest.raises(DaemonError, match="no such thing; look elsewhere") as caught:
        await asyncio.to_thread(ask, folder / "s", "query", "missing")
    assert (caught.value.code, caught.value.message, caught.value.remedy) == (
        "unknown",
        "no such thing",
        "look elsewhere",
    )


async def test_ask_gets_a_large_answer(folder: Path, server: Server) -> None:
    found = await asyncio.to_thread(ask, folder / "s", "query", "big", {"size": 5_000_000})
    assert len(found) == 5_000_000


def test_ask_without_a_daemon(folder: Path) -> None:
    with pytest.raises(NoDaemon, match="kpd start") as caught:
        ask(folder / "s", "query", "status")
    assert caught.value.code == "no_daemon"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(folder / "s"))
    with pytest.raises(NoDaemon):
        ask(folder / "s", "query", "status")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((b"SSH-2.0-OpenSSH\n",), "cannot be understood"),
        ((b"[]\n",), "cannot be understood"),
        ((b'{"id":1,"ok":false}\n',), "cannot be understood"),
        ((b'{"id":1,"ok":true}\n', b'{"id":2,"ok'), "ended the connection"),
        ((b'{"id":1,"ok":true}\n',), r"ended the connection|was lost"),
        ((), r"ended the connection|was lost"),
        ((b'{"id":1,"ok":false,"error":{"code":"protocol","message":"this daemon is older"}}\n',), "is older"),
    ],
)
async def test_ask_of_something_else(folder: Path, lines: tuple[bytes, ...], says: str) -> None:
    async with impostor(folder / "s", *lines, close=True):
        with pytest.raises(DaemonError, match=says):
            await asyncio.to_thread(ask, folder / "s", "query", "status")


async def test_a_question_too_long_for_the_wire_is_not_sent(folder: Path, server: Server) -> None:
    too_long = {"text": "x" * MAX_REQUEST}
    with pytest.raises(DaemonError, match="too long"):
        await asyncio.to_thread(ask, folder / "s", "query", "echo", too_long)
    async with Client(folder / "s", "test") as client:
        with pytest.raises(DaemonError, match="too long"):
            await client.query("echo", **too_long)
        assert await client.query("echo", a=1) == {"a": 1}


@pytest.mark.parametrize(
    ("given", "why"),
    [("\udcff", "not UTF-8 text"), (["ok", {"\udc80": 1}], "not UTF-8 text"), (float("nan"), "not a finite number")],
)
async def test_what_json_cannot_say_is_not_sent(folder: Path, server: Server, given: object, why: str) -> None:
    with pytest.raises(DaemonError, match=f"memo: an argument is {why}") as refused:
        await asyncio.to_thread(ask, folder / "s", "command", "memo", {"text": given})
    assert refused.value.code == "usage"


async def test_ask_does_not_wait_forever(folder: Path) -> None:
    async with impostor(folder / "s"):
        with pytest.raises(DaemonError, match=r"has not answered status within 0\.05 s"):
            await asyncio.to_thread(ask, folder / "s", "query", "status", None, "cli", 0.05)


@pytest.mark.skipif(os.getuid() != 0, reason="only the administrator can give a socket away")
async def test_the_socket_of_another_user_is_not_trusted(folder: Path, server: Server) -> None:
    os.chown(folder / "s", 65534, 65534)
    with pytest.raises(DaemonError, match="belongs to another user"):
        ask(folder / "s", "query", "echo")
    with pytest.raises(DaemonError, match="belongs to another user"):
        await Client(folder / "s", "test").connect()


def test_ask_stays_cheap() -> None:
    program = (
        "import sys, kpd.client; print([m for m in ('asyncio', 'msgspec', 'kpd.model.events') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
