"""On a real daemon: the best of a run is measured against the baseline at its end, also across a kill."""

import pytest

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

pytestmark = pytest.mark.usefixtures("told_times")


def test_the_end_of_a_run_measures_its_best_against_the_baseline(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    begun = daemon.until_event("iteration_started", iteration=2)["body"]
    assert (begun["again"], begun["parent"], begun["confirming"]) == (1, 0, "end")
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    shown = daemon.query("show", iteration="r1.2")
    assert (shown["iteration"]["outcome"], shown["iteration"]["confirming"]) == ("measured", "end")
    assert shown["detail"]["profiled"] is None
    headline = daemon.query("status")["runs"]["r1"]["headline"]
    assert (headline["how"], headline["of"], headline["by"]) == ("measured", 1, 2)
    assert headline["speedup"]["low"] > 1
    assert len(daemon.events("run_ended")) == 1
    folder = workspace.run_folder("scale", "r1")
    assert "measured, over the baseline" in (folder / "report.md").read_text()
    assert "r1.2" not in (workspace.memory / "scale.md").read_text(), "memory has candidates, not this contest"
    assert daemon.query("rederive", iteration="r1.2")["rederived"] == shown["iteration"]["verdict"]


def test_what_is_rolled_back_to_is_measured_in_the_background(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator", iterations=9)
    daemon.until_event("folder_known")
    for number, (old, new) in enumerate((("8", "4"), ("4", "1")), start=1):
        save(kernel(workspace), kernel(workspace).read_text().replace(f"REPEAT {old}", f"REPEAT {new}"))
        daemon.until_event("iteration_ended", iteration=number, outcome="accepted")
    daemon.command("rollback", iteration="r1.1")
    assert daemon.until_event("iteration_ended", iteration=3)["body"]["outcome"] == "measured"
    found = daemon.query("status")["runs"]["r1"]
    assert (found["headline"]["how"], found["headline"]["of"], found["best"]["number"]) == ("measured", 1, 1)
    assert found["counted"] == 2


def test_what_is_rolled_back_to_after_the_end_is_measured_too(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator", iterations=2)
    daemon.until_event("folder_known")
    for number, (old, new) in enumerate((("8", "4"), ("4", "1")), start=1):
        save(kernel(workspace), kernel(workspace).read_text().replace(f"REPEAT {old}", f"REPEAT {new}"))
        daemon.until_event("iteration_ended", iteration=number, outcome="accepted")
    before = daemon.until_event("run_ended")["body"]
    daemon.command("rollback", iteration="r1.1")
    assert daemon.until_event("iteration_started", iteration=4)["body"]["confirming"] == "decision"
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    daemon.until(lambda: len(daemon.events("run_ended")) == 2, "the run to end again")
    assert daemon.events("run_ended")[-1]["body"] == before, "as it had ended"
    found = daemon.query("status")["runs"]["r1"]
    assert (found["headline"]["how"], found["headline"]["of"], found["headline"]["by"]) == ("measured", 1, 4)
    daemon.command("undo", run="r1")
    daemon.until(lambda: len(daemon.events("run_ended")) == 3, "the run to end once more")
    headline = daemon.query("status")["runs"]["r1"]["headline"]
    assert (headline["of"], headline["by"]) == (2, 5)
    daemon.command("rollback", iteration="r1.1")
    daemon.until_event("step_started", iteration=6, step="time")
    daemon.command("stop", run="r1")
    assert [event["body"] for event in daemon.events("run_ended")] == [before] * 4, "stopped or not"
    assert daemon.query("show", iteration="r1.6")["iteration"]["outcome"] == "interrupted"
