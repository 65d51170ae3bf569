"""kpd's tools in a session: the SDK's own client, `kpd mcp`, a daemon, a task on the CPU; all real."""

import sys
from pathlib import Path
from typing import Any

import pytest

from kpd.client import DaemonError, ask
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.desk_agent import BUDGET, DAEMON, DYING, NAME, session_folder

__all__ = ["daemon", "workspace"]


def mcp(path: Path) -> Any:
    from mcp import Client, StdioServerParameters  # at the top each worker of the suite would spend a second on it

    command = ["-m", "kpd.cli.main", "mcp"]
    return Client(StdioServerParameters(command=sys.executable, args=command, env={"KPD_SESSION": str(path)}))


def socket_of(daemon: RealDaemon, workspace: Workspace) -> Path:
    noted = session_folder(workspace) / "socket"
    return Path(daemon.until(lambda: noted.exists() and noted.read_text(), "the session"))


async def test_an_agent_looks_and_tries_through_a_kill_and_kpd_alone_decides(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    daemon.start(DYING)
    daemon.command("run", task="scale", agent=NAME, iterations=1)
    path = socket_of(daemon, workspace)
    tree = session_folder(workspace) / "tree" / "kernel.c"
    source = tree.read_text()
    tree.write_text(source.replace("REPEAT 8", "REPEAT word"))
    async with mcp(path) as client:
        cut = await client.call_tool("try", {})
        assert cut.is_error and daemon.wait() == -9
        (session_folder(workspace) / "socket").unlink()
        daemon.start(DAEMON)
        daemon.command("resume")
        assert socket_of(daemon, workspace) == path, "the same client goes on"
        broken = (await client.call_tool("try", {})).structured_content
        assert (broken["trial"]["trial"], broken["trial"]["end"]) == (1, "not_built")
        assert "word" in broken["trial"]["fault"]["error"]
        seen = (await client.call_tool("inspect", {})).structured_content
        assert seen["incumbent"] == 0 and seen["left"]["trials"] == BUDGET.trials - 1
        assert (await client.call_tool("findings", {})).structured_content["findings"]
        swept = (await client.call_tool("sweep", {"points": 1, "tune": {"REPEAT": ["1"]}})).structured_content
        assert swept["points"][0]["gain_pct"]["pct"] > 50, "two processes give no narrow interval"
        tree.write_text(source.replace("REPEAT 8", "REPEAT 4"))
        tried = (await client.call_tool("try", {"processes": 2, "profile": True})).structured_content
        assert tried["trial"]["end"] == "measured" and tried["trial"]["gain_pct"]["pct"] > 10
        assert tried["profile"]["metrics"]["call_us"] > 0
        assert tried["left"]["trials"] == BUDGET.trials - 3 and tried["left"]["device_s"] < BUDGET.device_s
    with pytest.raises(DaemonError) as refused:
        ask(path, "command", "accept", {"iteration": "r1.1"})
    assert refused.value.code == "refused"
    assert not daemon.events("accepted")[1:], "a trial is never accepted"
    (session_folder(workspace) / "end").touch()
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")
    assert [event["body"]["trial"] for event in daemon.events("trial_started")] == [1, 2, 3]
    assert [event["body"]["end"] for event in daemon.events("tried")] == ["not_built", "measured", "measured"]
    calls = {row["tool"]: row for row in daemon.query("tool_calls", run="r1")["calls"]}
    assert (calls["try"]["calls"], calls["try"]["failed"]) == (2, 0), "the killed daemon could not record its own"
    assert calls["try"]["arguments"] == {"processes": 1, "profile": 4}
    assert not path.exists()
