"""What an operator wants to see once more, and what is undone: the plan, the fold, the contest, and a real daemon."""

import pytest

from kpd.client import DaemonError
from kpd.measure.judge import LOOKS
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

pytestmark = pytest.mark.usefixtures("told_times")


# ── on a daemon ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_measured_once_more_and_with_all_processes(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator", iterations=1)
    daemon.until_event("folder_known")
    with pytest.raises(DaemonError, match="no iteration 7"):
        daemon.command("again", iteration="r1.7")
    assert daemon.command("again", iteration="r1.0", thorough=True) == {"run": "r1", "iteration": 0}
    same = daemon.until_event("iteration_ended", iteration=1)["body"]
    assert same["outcome"] == "rejected", "the incumbent cannot gain on itself"
    assert same["reason"].startswith("the incumbent against itself")
    shown = daemon.query("show", iteration="r1.1")
    assert (shown["iteration"]["agent"], shown["iteration"]["again"], shown["iteration"]["thorough"]) == (
        "again", 0, True,
    )  # fmt: skip
    assert shown["iteration"]["memo"] == "again: baseline: the task as it is"
    assert shown["iteration"]["verdict"]["processes"] == LOOKS[-1]
    save(kernel(workspace), kernel(workspace).read_text().replace("REPEAT 8", "REPEAT nonsense"))
    daemon.until_event("run_ended")
    with pytest.raises(DaemonError, match="r1 has ended"):
        daemon.command("again", iteration="r1.1")


def test_it_proposes_the_files_of_then_against_the_incumbent_of_now(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator", iterations=9)
    daemon.until_event("folder_known")
    for number, (old, new) in enumerate((("8", "4"), ("4", "1")), start=1):
        save(kernel(workspace), kernel(workspace).read_text().replace(f"REPEAT {old}", f"REPEAT {new}"))
        daemon.until_event("iteration_ended", iteration=number, outcome="accepted")
    daemon.command("pause")
    daemon.command("again", iteration="r1.1")
    with pytest.raises(DaemonError, match="is to be measured again already"):
        daemon.command("again", iteration="r1.1")
    daemon.kill()
    daemon.start()
    daemon.command("resume", run="r1")
    assert daemon.until_event("iteration_ended", iteration=3)["body"]["outcome"] == "rejected"
    shown = daemon.query("show", iteration="r1.3")["iteration"]
    assert (shown["parent"], shown["again"], shown["verdict"]["word"]) == (2, 1, "slower")
    candidate = workspace.iteration_folder("scale", "r1", 3) / "candidate" / "kernel.c"
    assert "REPEAT 4" in candidate.read_text()
    assert "REPEAT 1" in kernel(workspace).read_text()
    assert len(daemon.events("again_asked")) == 1


def test_undo_and_redo(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    daemon.until_event("run_ended")
    with pytest.raises(DaemonError, match="nothing to undo in r1"):
        daemon.command("undo")
    daemon.command("rollback", iteration="r1.0")
    assert "REPEAT 8" in kernel(workspace).read_text()
    assert daemon.command("undo") == {"run": "r1", "iteration": 1}
    assert "REPEAT 1" in kernel(workspace).read_text()
    assert daemon.command("undo", run="r1")["iteration"] == 0
    assert "REPEAT 8" in kernel(workspace).read_text()
    assert [event["body"]["undo"] for event in daemon.events("rolled_back")] == [False, True, True]
    memory = (workspace.memory / "scale.md").read_text()
    assert "chosen by hand: undone by cli" in memory
    save(kernel(workspace), kernel(workspace).read_text() + "/* mine */\n")
    with pytest.raises(DaemonError, match="edited since"):
        daemon.command("undo")
    assert kernel(workspace).read_text().endswith("/* mine */\n")
    assert daemon.query("status")["runs"]["r1"]["incumbent"] == 0
