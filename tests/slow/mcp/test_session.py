"""kpd's tools in a session: the SDK's own client, `kpd mcp`, a daemon, a task on the CPU; all real."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from kpd.client import DaemonError, ask
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.desk_agent import BUDGET, DAEMON, NAME, session_folder

__all__ = ["daemon", "workspace"]


@asynccontextmanager
async def mcp(**env: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(command=sys.executable, args=["-m", "kpd.cli.main", "mcp"], env=env)
    async with Client(server) as client:
        yield client


def socket_of(daemon: RealDaemon, workspace: Workspace) -> Path:
    noted = session_folder(workspace) / "socket"
    return Path(daemon.until(lambda: noted.exists() and noted.read_text(), "the session"))


async def test_an_agent_looks_tries_twice_and_is_measured_by_kpd_alone(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    daemon.start(DAEMON)
    daemon.command("run", task="scale", agent=NAME, iterations=1)
    path = socket_of(daemon, workspace)
    tree = session_folder(workspace) / "tree"
    source = (tree / "kernel.c").read_text()
    async with mcp(KPD_SESSION=str(path)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"inspect", "try"} <= set(names)
        seen = (await client.call_tool("inspect", {})).structured_content
        assert seen["incumbent"] == 0 and seen["left"]["trials"] == BUDGET.trials
        (tree / "kernel.c").write_text(source.replace("REPEAT 8", "REPEAT word"))
        broken = (await client.call_tool("try", {})).structured_content
        assert broken["trial"]["end"] == "not_built"
        (tree / "kernel.c").write_text(source.replace("REPEAT 8", "REPEAT 4"))
        tried = (await client.call_tool("try", {"processes": 2, "profile": True})).structured_content
        assert tried["trial"]["end"] == "measured" and tried["trial"]["gain_pct"]["low"] > 10
        assert tried["left"]["trials"] == BUDGET.trials - 2 and tried["left"]["device_s"] < BUDGET.device_s
        assert "metrics" in tried["profile"]
        strange = await client.call_tool("try", {"processes": 99})
        assert strange.is_error and "processes" in strange.content[0].text
    with pytest.raises(DaemonError) as refused:
        ask(path, "command", "accept", {"iteration": "r1.1"})
    assert refused.value.code == "refused"
    assert not daemon.events("accepted")[1:], "a trial is never accepted"
    (session_folder(workspace) / "end").touch()
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")
    assert [event["body"]["end"] for event in daemon.events("tried")] == ["not_built", "measured"]
    calls = [event["body"] for event in daemon.events("tool_called")]
    assert [(call["tool"], call["ok"]) for call in calls] == [
        ("inspect", True), ("try", True), ("try", True), ("try", False),
    ]  # fmt: skip
    assert calls[2]["arguments"] == {"processes": 1, "profile": 4}
    assert not path.exists()
