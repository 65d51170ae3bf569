"""Built tools in whole runs of a scripted coding agent by a real daemon."""

from pathlib import Path

import pytest

from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, leftovers, workspace
from tests.support.sessions.scripted import agent, kernel
from tests.support.tools.built import server_tool, write_tool

__all__ = ["daemon", "workspace"]


def brought_in(daemon: RealDaemon, folder: Path, **parts: str) -> str:
    found = daemon.command("import_tool", folder=str(write_tool(folder, server_tool(**parts))), task="scale")
    assert (found["state"], found["trouble"]) == ("qualified", [])
    return next(one["ref"] for one in daemon.query("toolbox") if one["shown"] == found["tool"])


def test_a_session_gets_what_is_qualified_and_its_calls_are_counted_without_a_value(
    daemon: RealDaemon, workspace: Workspace, tmp_path: Path
) -> None:
    agent(
        workspace,
        [
            ["read", "../skills/cache_misses.md"],
            ["servers"],
            ["call", "word-count", "count", {"word": "secret-word"}],
            ["write", "kernel.c", kernel("nonsense")],
            ["until", "quarantined"],
        ],
        [["servers"], ["write", "kernel.c", kernel(1)], ["say", "MEMO: once is enough\n"]],
    )
    daemon.start()
    tool = brought_in(daemon, tmp_path / "tool")
    other = brought_in(daemon, tmp_path / "other", name="other-tool")
    daemon.command("quarantine_tool", tool="other-tool", why="not now")
    daemon.command("run", task="scale", agent="mine", iterations=1)
    session = workspace.iteration_folder("scale", "r1", 1) / "session"
    written = session / "tree" / "kernel.c"
    daemon.until(lambda: written.exists() and "nonsense" in written.read_text(), "the first turn's work")
    daemon.command("quarantine_tool", tool=tool)
    (session / "state" / "quarantined").touch()
    daemon.until(lambda: len(daemon.events("screened")) == 3, "the repair to be taken")
    daemon.command("stop")
    assert [event["body"]["tools"] for event in daemon.events("tools_given")] == [[tool]]
    calls = [event["body"] for event in daemon.events("tool_called")]
    assert [(one["server"], one["tool"], one["ok"]) for one in calls] == [
        ("word-count", "tools/list", True), ("word-count", "count", True),
    ]  # fmt: skip
    assert calls[1]["arguments"] == {"word": len('"secret-word"')} and calls[1]["result"] > 20
    assert [event["body"]["skills"] for event in daemon.events("skills_read")] == [["cache_misses"]]
    assert not any("secret-word" in str(event) for event in daemon.events())
    said = (workspace.iteration_folder("scale", "r1", 1) / "session.md").read_text()
    assert "servers: kpd, word-count\ncount says: count: 0" in said
    assert said.rstrip().rpartition("servers: ")[2].startswith("kpd\n"), "quarantined before its second turn"
    assert "word-count, brought in by a person, says of itself: counts words" in said and "other-tool" not in said
    shown = {one["ref"]: (one["state"], one["sessions"], one["used"]) for one in daemon.query("toolbox")}
    assert shown == {tool: ("quarantined", 1, 1), other: ("quarantined", 0, 0)}


def test_a_session_builds_a_tool_repairs_it_and_the_next_one_uses_it(daemon: RealDaemon, workspace: Workspace) -> None:
    here = ["run", 'ls "$HOME/../tool" | wc -l']
    agent(
        workspace,
        [["call", "word-count", "count", {}], ["write", "kernel.c", kernel(2)], ["say", "MEMO: two\n"]],
        [["say", "I counted by hand.\n\nIMPROVEMENT: a server that counts words\n"]],
        [here, ["files", "../tool", server_tool(self_test="/absent/kernel.c")], ["say", "built\n"]],
        [["files", "../tool", server_tool()], ["say", "mended\n"]],
    )
    daemon.start()
    with pytest.raises(DaemonError, match="sweep builds no tools"):
        daemon.command("run", task="scale", agent="sweep", evolve=True)
    daemon.command("run", task="scale", agent="mine", iterations=2, evolve=True)
    ended = daemon.until_event("smith_ended")["body"]
    assert (ended["end"], ended["tool"].partition("@")[0]) == ("qualified", "word-count"), daemon.output
    turns = [(event["body"]["task"], event["body"]["said"]) for event in daemon.events("smith_turned")]
    assert turns == [("reflect", "a server that counts words"), ("build", "0\nbuilt"), ("mend", "mended")]
    first, second = [event["body"] for event in daemon.events("tool_checked")]
    assert [(one["name"], one["said"]) for one in first["checks"] if not one["ok"]] == [
        ("self_test", "exit status 1: no such file: /absent/kernel.c")
    ]
    assert (first["tool"], first["version"] != second["version"]) == ("word-count", True)
    states = {one["version"]: one["state"] for one in daemon.query("toolbox")}
    assert states == {first["version"]: "quarantined", second["version"]: "qualified"}
    told = (workspace.iteration_folder("scale", "r1", 1) / "session" / "state" / "prompt_3.md").read_text()
    assert "its self-test: exit status 1: no such file: /absent/kernel.c" in told
    bills = [event["body"]["purpose"] for event in daemon.events("billed")]
    assert bills == ["propose", "toolsmith", "toolsmith", "toolsmith"]
    called = daemon.until_event("tool_called", tool="count")["body"]
    assert (called["iteration"], called["server"], called["ok"]) == (2, "word-count", True)
    daemon.command("stop")
    assert [event["body"]["tools"] for event in daemon.events("tools_given")] == [[ended["tool"]]]


def test_a_daemon_that_is_killed_while_a_tool_is_built_goes_on_with_it(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    agent(
        workspace,
        [["write", "kernel.c", kernel(2)], ["say", "MEMO: two\n"]],
        [["say", "IMPROVEMENT: a server that counts words\n"]],
        [["files", "../tool", {"tool.toml": "half"}], ["sleep", 60]],
        [["files", "../tool", server_tool()], ["say", "built\n"]],
    )
    daemon.start()
    daemon.command("run", task="scale", agent="mine", iterations=1, evolve=True)
    half = workspace.iteration_folder("scale", "r1", 1) / "session" / "tool" / "tool.toml"
    daemon.until(half.exists, "half a tool")
    daemon.kill()
    daemon.until(lambda: not leftovers(workspace), "the agent to end with its daemon")
    daemon.start()
    daemon.command("resume")
    ended = daemon.until_event("smith_ended")["body"]
    assert (ended["end"], ended["tool"].partition("@")[0]) == ("qualified", "word-count"), daemon.output
    asked = [(event["body"]["task"], event["body"]["continues"]) for event in daemon.events("smith_prompted")]
    assert asked == [("reflect", False), ("build", False), ("build", True)]
    bills = [(event["body"]["purpose"], event["body"]["unseen"]) for event in daemon.events("billed")]
    assert bills == [("propose", False), ("toolsmith", False), ("toolsmith", True), ("toolsmith", False)]
    daemon.until_event("run_ended")
