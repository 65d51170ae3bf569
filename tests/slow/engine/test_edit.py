"""The operator's text as a command, on a real daemon: measured like any edit, and never at the cost of another one."""

import pytest

from kpd.client import DaemonError
from kpd.wire import MAX_REQUEST
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

pytestmark = pytest.mark.usefixtures("told_times")


def test_it_is_the_next_iteration_and_refused_where_it_cannot_be(daemon: RealDaemon, workspace: Workspace) -> None:
    baseline = kernel(workspace).read_text()
    fast = baseline.replace("REPEAT 8", "REPEAT 1")
    daemon.start()
    with pytest.raises(DaemonError, match="no run yet"):
        daemon.command("edit", files={"kernel.c": fast})
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    for files, words in (
        ({"harness.c": "easier"}, "harness.c is not an editable file of scale; editable are kernel.c, build.json"),
        ({"../../config.toml": "mine"}, "is not an editable file"),
        ({"kernel.c": ""}, "kernel.c would be empty"),
        ({"kernel.c": baseline}, "nothing to save"),
        ({}, "nothing to save"),
        ({"kernel.c": "x" * MAX_REQUEST}, "too long"),
    ):
        with pytest.raises(DaemonError, match=words):
            daemon.command("edit", files=files)
    assert kernel(workspace).read_text() == baseline
    assert daemon.command("edit", files={"kernel.c": fast}) == {"run": "r1"}
    assert daemon.until_event("iteration_ended", iteration=1)["body"]["outcome"] == "accepted"
    assert daemon.query("show", iteration="r1.1")["iteration"]["agent"] == "operator"
    assert len(daemon.events("operator_edited")) == 1
    daemon.command("stop")
    with pytest.raises(DaemonError, match="r1 has ended"):
        daemon.command("edit", files={"kernel.c": baseline})
    assert kernel(workspace).read_text() == fast


def test_an_edit_that_waits_to_be_measured_is_not_lost(daemon: RealDaemon, workspace: Workspace) -> None:
    baseline = kernel(workspace).read_text()
    daemon.start()
    daemon.command("run", task="scale", agent="operator", patience=9, iterations=9)
    daemon.until_event("folder_known")
    daemon.command("pause")
    mine = baseline.replace("REPEAT 8", "REPEAT 2")
    save(kernel(workspace), mine)
    with pytest.raises(DaemonError, match="that edit is measured first"):
        daemon.command("edit", files={"kernel.c": baseline.replace("REPEAT 8", "REPEAT 3")})
    assert kernel(workspace).read_text() == mine
    flags = (workspace.tasks / "scale" / "build.json").read_text() + "\n"
    daemon.command("edit", files={"build.json": flags})  # another file than the one that waits
    daemon.command("resume")
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")
    candidate = workspace.iteration_folder("scale", "r1", 1) / "candidate"
    assert (candidate / "kernel.c").read_text() == mine
    assert (candidate / "build.json").read_text() == flags
    daemon.command("edit", files={"kernel.c": mine.replace("REPEAT 2", "REPEAT 0")})
    assert daemon.until_event("iteration_ended", iteration=2)["body"]["outcome"] == "rejected"
    daemon.command("edit", files={"kernel.c": mine.replace("REPEAT 2", "REPEAT 1")})  # over one that was measured
    daemon.until_event("iteration_ended", iteration=3, outcome="accepted")
