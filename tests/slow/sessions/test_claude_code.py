"""The real Claude Code, from npm, in a run of a real daemon, against a scripted model service."""

import json
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, leftovers, workspace
from tests.support.sessions.claude_service import serving
from tests.support.sessions.npm_agents import claude_code
from tests.support.sessions.scripted import kernel
from tests.support.tools.built import server_tool, write_tool

__all__ = ["claude_code", "daemon", "workspace"]

OUTSIDE = Path("/tmp/kpd-claude-outside")


def test_it_reads_tries_is_refused_goes_on_after_a_kill_is_repaired_and_accepted(
    daemon: RealDaemon, workspace: Workspace, claude_code: Path
) -> None:
    tree = workspace.iteration_folder("scale", "r1", 1) / "session" / "tree"
    file, judge = str(tree / "kernel.c"), str(tree / "harness.c")
    steps = (
        ("Read", {"file_path": file}),
        ("Read", {"file_path": judge}),
        ("Write", {"file_path": judge, "content": "int main(void) { return 0; }\n"}),
        ("Bash", {"command": f"echo x > {OUTSIDE}", "description": "write elsewhere"}),
        "the daemon is killed before this is said",
        ("Write", {"file_path": file, "content": kernel("nonsense")}),
        "MEMO: broken\n",
        ("WaitForMcpServers", {}),
        ("mcp__kpd__inspect", {}),
        ("mcp__word-count__count", {"word": "REPEAT"}),
        ("Write", {"file_path": file, "content": kernel(1)}),
        ("mcp__kpd__try", {}),
        "MEMO: once is enough\nEXPECT: ipc up, gain 80 %\nCLAIM: 88 us\n",
    )
    with serving(*steps) as service:
        service.hold_at = 5
        table = (
            f"command = {json.dumps([str(claude_code)])}\nenv = {{ ANTHROPIC_BASE_URL = {json.dumps(service.url)} }}"
        )
        workspace.config.write_text(f"{workspace.config.read_text()}\n[agents.claude-code]\n{table}\n")
        daemon.start()
        brought = write_tool(workspace.root.parent / "tool", server_tool())
        assert daemon.command("import_tool", folder=str(brought), task="scale")["state"] == "qualified"
        daemon.command("run", task="scale", agent="claude-code", iterations=1)
        daemon.until(lambda: len(service.asked) == 5, "the fifth question")
        daemon.kill()
        daemon.until(lambda: not leftovers(workspace), "the agent to end with its daemon")
        service.go_on.set()
        daemon.start()
        daemon.command("resume")
        ended = daemon.until_event("run_ended")["body"]
        assert service.keys == {"secret-that-must-not-leak"}
    assert ended["outcome"] == "improved", daemon.output
    shown = daemon.query("show", iteration="r1.1")["iteration"]
    session = shown["session"]
    assert (shown["outcome"], shown["memo"], session["claimed_us"]) == ("accepted", "once is enough", 88.0)
    assert (session["turns"], session["refused"], session["judges"], session["foreign"]) == (3, 1, ["harness.c"], [])
    assert len({event["body"]["own"] for event in daemon.events("session_known")}) == 1, "one session of its own"
    asked = [json.dumps(body["messages"][-1]) for body in service.asked]
    assert "User refused permission" in asked[3]
    assert "permission denied" in asked[4]
    assert not OUTSIDE.exists()
    assert "stopped in the middle of your turn" in asked[5]
    assert "nonsense" in asked[7], "the compiler's words"
    called = [event["body"] for event in daemon.events("tool_called") if event["body"]["tool"] == "count"]
    assert [(one["server"], one["ok"], one["arguments"]) for one in called] == [("word-count", True, {"word": 8})]
    trial = daemon.events("tried")[0]["body"]
    assert (trial["end"], trial["gain"] is not None) == ("measured", True)
    bills = [event["body"] for event in daemon.events("billed")]
    assert [bill["cut"] for bill in bills] == [True, False, False]
    assert bills[2]["usd"] == pytest.approx(bills[1]["usd"] * 6 / 2, rel=0.01), "six answers, and two"
