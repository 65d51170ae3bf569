"""`kpd mcp` outside of sessions, with the SDK's own client: it reads a workspace, and measures nothing."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kpd.model import events as e
from kpd.workspace.extras import install
from tests.places import ROOT
from tests.support.e2e.desk_place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path / "w")
    (found.workspace.root / "tasks").mkdir()
    yield found
    found.store.close()


def client_of(*words: str, env: dict[str, str] | None = None) -> Any:
    from mcp import Client, StdioServerParameters  # at the top each worker of the suite would spend a second on it

    command = ["-m", "kpd.cli.main", *words, "mcp"]
    return Client(StdioServerParameters(command=sys.executable, args=command, env=env, cwd=str(ROOT)))


async def test_any_client_may_read_and_nothing_else(place: Place) -> None:
    async with client_of("-w", str(place.workspace.root)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"inspect", "findings", "history", "memory", "note"} <= set(tools)
        assert not {"try", "sweep", "profile"} & set(tools)
        assert tools["history"].annotations.read_only_hint and not tools["note"].annotations.read_only_hint
        seen = await client.call_tool("inspect", {"run": "r1"})
        assert not seen.is_error and seen.structured_content["incumbent"] == 1
        assert "2.00×" in seen.content[0].text and '"incumbent": 1' in seen.content[1].text
        tried = await client.call_tool("try", {})
        assert tried.is_error and "no tool 'try'" in tried.content[0].text
        assert tried.structured_content["error"]["remedy"].startswith("tools: inspect")
        noted = await client.call_tool("note", {"text": "hello"})
        assert noted.is_error and "kpd start" in noted.content[0].text, "only a daemon writes"
        strange = await client.call_tool("rules", {"rule": "x"})
        assert strange.is_error and "it takes: run" in strange.content[0].text
        other = await client.call_tool("history", {"run": "r9"})
        assert other.is_error and "no run r9" in other.content[0].text


def test_without_the_extra_the_error_says_how_to_get_it(place: Place, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "mcp"
    missing.mkdir(parents=True)
    (missing / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')")
    command = [sys.executable, "-m", "kpd.cli.main", "-w", place.workspace.root, "mcp"]
    path = os.pathsep.join((str(missing.parent), str(ROOT)))
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert ended.returncode == 64 and ended.stdout == ""
    assert ended.stderr.strip() == f"kpd: kpd mcp needs the package mcp; {install('agents')}"


async def test_a_session_that_is_over_is_told_with_each_call(tmp_path: Path) -> None:
    gone = {"KPD_SESSION": str(tmp_path / "kpd.sock")}
    async with client_of(env=gone) as client:
        called = await client.call_tool("inspect", {})
        assert called.is_error and "this session of kpd is over" in called.content[0].text


def spoken(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


async def test_a_client_that_leaves_while_a_trial_waits_ends_its_server(place: Place) -> None:
    """The SDK's own client would end it with a signal."""
    place.bench.process_s = 60.0
    async with place.serve() as path:
        own = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kpd.cli.main", "mcp", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "KPD_SESSION": str(path)}, cwd=ROOT,
        )  # fmt: skip
        assert own.stdin is not None and own.stdout is not None
        own.stdin.write(spoken(id=1, method="initialize", params=HELLO))
        assert b"kpd" in await own.stdout.readline()
        own.stdin.write(spoken(method="notifications/initialized"))
        own.stdin.write(spoken(id=2, method="tools/call", params={"name": "try", "arguments": {}}))
        while not place.bench.built:  # noqa: ASYNC110  # another process asks for it
            await asyncio.sleep(0.02)
        own.stdin.close()
        assert await asyncio.wait_for(own.wait(), 30) == 0, "the trial would have hung for 60 s"
    assert [one.end for one in place.facts(e.Tried)] == ["cut"]
