"""Whole runs of a scripted coding agent by a real daemon."""

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.sessions.scripted import agent, kernel

__all__ = ["daemon", "workspace"]


def test_what_lies_in_the_tree_is_measured_and_a_repair_goes_to_the_same_session(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    agent(
        workspace,
        [
            ["say", "I break it first.\n"],
            ["ask", "edit", "Edit kernel.c", {"file_path": "kernel.c"}],
            ["ask", "edit", "Edit harness.c", {"file_path": "harness.c"}],
            ["ask", "execute", "ls", {"command": "ls -l | head"}],
            ["try", "/tmp/kpd-outside", "x"],
            ["write", "kernel.c", kernel("nonsense")],
            ["cost", 0.25],
        ],
        [["write", "kernel.c", kernel(1)], ["cost", 0.4], ["say", "MEMO: once is enough\nCLAIM: 3.5 us\n"]],
    )
    daemon.start()
    daemon.command("run", task="scale", agent="mine", iterations=1)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved", daemon.output
    shown = daemon.query("show", iteration="r1.1")["iteration"]
    assert (shown["outcome"], shown["memo"]) == ("accepted", "once is enough")
    session = shown["session"]
    assert (session["own"], session["agent"], session["turns"], session["end"]) == (
        "their-own-7",
        "scripted 1",
        2,
        "done",
    )
    assert (session["claimed_us"], session["refused"]) == (3.5, 1)
    assert shown["spend"]["usd"] == 0.4, "of both turns: an agent counts on"
    kinds = [event["kind"] for event in daemon.events() if event["kind"].startswith(("session", "asked", "billed"))]
    turn = ["session_known", "asked", "session_prompted", "billed", "session_turned"]
    assert kinds == ["session_opened", *turn, *turn]
    said = (workspace.iteration_folder("scale", "r1", 1) / "session.md").read_text()
    assert "edit allowed\nedit refused\nexecute allowed\n/tmp/kpd-outside: Permission denied" in said
    assert "what was said before" not in said
