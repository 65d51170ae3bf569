"""What the sessions of a run begin with, and the operator's words on the task, in a whole run of a scripted agent."""

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.sessions.scripted import agent, kernel

__all__ = ["daemon", "workspace"]


def test_each_session_begins_anew_and_reads_the_operators_words(daemon: RealDaemon, workspace: Workspace) -> None:
    look = ["run", "echo begins with $(sed -n 's/#define REPEAT //p' kernel.c)"]
    agent(workspace, [look, ["write", "kernel.c", kernel(1)], ["say", "MEMO: once\n"]])
    daemon.start()
    words = "Mind the tail of the array."
    daemon.command("run", task="scale", agent="mine", iterations=2, task_state="reset", task_text=f" {words}\n")
    daemon.until_event("proposed", iteration=2)
    daemon.command("stop")
    for number in (1, 2):
        folder = workspace.iteration_folder("scale", "r1", number)
        assert "begins with 8" in (folder / "session.md").read_text(), "the task's own file, not the incumbent's"
        told = (folder / "session" / "TASK.md").read_text()
        assert f"> {words}" in told and "with its own files: begin anew" in told
        assert "`try` measures your tree as it stands, 20 times at most" in told and "can run nothing" not in told
    assert daemon.query("status")["runs"]["r1"]["best"]["number"] == 1
    assert daemon.query("status")["runs"]["r1"]["task_text"] == words
