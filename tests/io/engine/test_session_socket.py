"""The socket of a session: who is answered, and how often."""

import asyncio
import contextlib
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from kpd.client import ask
from kpd.engine.tools import serving
from kpd.model import events as e
from kpd.model.trials import TrialBudget
from kpd.sessions.cleaning import TextCleaner
from kpd.wire import MAX_REQUEST, PROTOCOL, DaemonError
from tests.support.e2e.desk_calls import called, place, refused
from tests.support.e2e.desk_place import Place

__all__ = ["place"]


HELLO = {"op": "hello", "id": 1, "protocol": PROTOCOL}


def lines(path: Path, *messages: bytes) -> list[dict[str, Any]]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        with contextlib.suppress(OSError):  # it may be refused already: the reason can be read
            connection.sendall(b"".join(messages))
            connection.shutdown(socket.SHUT_WR)
        return [json.loads(line) for line in connection.makefile("rb")]


def asked(**request: Any) -> bytes:
    return json.dumps(request).encode() + b"\n"


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "command", "id": 2, "verb": "accept", "args": {"iteration": "r1.1"}},
        {"op": "command", "id": 2, "verb": "shutdown"},
        {"op": "subscribe", "id": 2},
        {"op": "query", "id": 2, "what": "status"},
        {"op": "query", "id": 2, "what": "file", "args": {"iteration": "r1.1", "name": "x"}},
        {"op": "query", "id": 2, "what": "tool"},
        {"op": "query", "id": 2, "what": "tool", "args": {"name": "try", "run": "r2"}},
        {"op": "query", "id": 2, "what": "tool", "args": {"name": "accept"}},
        {"op": "query", "id": 2, "what": "tool", "args": {"name": ["try"]}},
        {"op": "query", "id": 2, "what": "tool", "args": {"name": "try", "args": ["x"]}},
        {"op": "query", "id": 2, "what": "tool", "args": {"name": "try", "args": {"processes": 1000}}},
        {"op": "query", "id": 2, "what": "tool", "args": {"name": "note", "args": {"text": "x" * 1001}}},
    ],
)
async def test_no_operation_and_nothing_of_other_sessions_is_answered(place: Place, request_: dict[str, Any]) -> None:
    before = place.journal.state.runs
    async with place.serve() as path:
        _, answer = await asyncio.to_thread(lines, path, asked(**HELLO), asked(**request_))
        assert answer["ok"] is False and answer["error"]["code"] in ("refused", "unknown", "usage")
        assert (await asyncio.to_thread(lines, path, asked(**HELLO)))[0]["ok"], "the next client is served"
    assert place.journal.state.runs == before


@pytest.mark.parametrize(
    "sent",
    [
        b"\n", b"{}\n", b"[" * 5000 + b"\n", b"\xff\xfe\n", asked(op="query", id=1, what="tools"),
        asked(op="hello", id=1, protocol=99), asked(**HELLO) + asked(**HELLO), b"x" * (MAX_REQUEST + 10) + b"\n",
        asked(**HELLO) + b'{"op":"query","id":2,"what":"tools"',
    ],
)  # fmt: skip
async def test_what_is_no_message_ends_that_connection_alone(place: Place, sent: bytes) -> None:
    async with place.serve() as path:
        for answer in await asyncio.to_thread(lines, path, sent):
            assert answer["ok"] or answer["error"]["code"] == "protocol"
        assert (await asyncio.to_thread(lines, path, asked(**HELLO)))[0]["ok"]


async def test_connections_and_calls_are_limited(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_CALLS", 2)
    async with called(place) as call:
        await call("history")
        await call("history")
        assert "2 calls are the most" in (await refused(call, "history")).message
    async with called(place) as call:
        assert "2 calls are the most" in (await refused(call, "history")).message, "a restart gives no new ones"
    assert len(place.facts(e.ToolCalled)) == 2
    async with place.serve() as path:
        held = [socket.socket(socket.AF_UNIX) for _ in range(serving.MOST_CLIENTS)]
        for one in held:
            await asyncio.to_thread(one.connect, str(path))
        (answer,) = await asyncio.to_thread(lines, path)
        assert "connections at most" in answer["error"]["message"]
        for one in held:
            one.close()


async def test_reports_of_calls_are_those_of_tools_that_the_session_has_and_are_limited(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_CALLS", 2)
    place.journal.emit(e.ToolsGiven("r1", 2, "r1.2", ("lint@aa",)))
    place.clean = TextCleaner.of({"A_KEY": "hunter22"}).text
    good = {"server": "lint", "tool": "find-hunter22", "ok": True, "ms": 1.0, "arguments": {"word": 3}, "result": 9}
    bad = ({"server": "kpd"}, {"server": "other"}, {"ms": -1}, {"values": "x"}, {"arguments": {"word": "secret"}})
    more = serving.MOST_SIZE + 1
    large = ({"result": more}, {"ms": more}, {"arguments": {"word": more}})
    async with place.serve() as path:
        wrong = [asked(op="query", id=2, what="called", args={**good, **one}) for one in (*bad, *large)]
        answers = await asyncio.to_thread(lines, path, asked(**HELLO), *wrong)
        assert [answer["ok"] for answer in answers] == [True] + [False] * 8
        for size in (9, serving.MOST_SIZE):
            await asyncio.to_thread(ask, path, "query", "called", {**good, "result": size})
        with pytest.raises(DaemonError, match="can be recorded"):
            await asyncio.to_thread(ask, path, "query", "called", good)
    told = [
        e.ToolCalled("r1", 2, "lint", "find-(A_KEY)", True, 1.0, {"word": 3}, size) for size in (9, serving.MOST_SIZE)
    ]
    assert place.facts(e.ToolCalled) == told


async def test_the_socket_is_the_user_s_alone_and_goes_with_the_session(place: Place) -> None:
    stale = place.workspace.root / serving.NAME
    stale.write_text("left by a crash")
    async with place.serve() as path:
        assert path == stale and path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


async def test_a_folder_with_a_long_path_has_its_socket_elsewhere(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 90) / "session"
    folder.mkdir(parents=True)
    async with serving.serve_session(place.attempt, folder, place.tree, TrialBudget(), str) as path:
        assert not path.is_relative_to(folder)
        assert (await asyncio.to_thread(lines, path, asked(**HELLO)))[0]["ok"]
    assert not path.exists()
