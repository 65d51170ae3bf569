"""What people and hosts do at the wrong moment, on a real daemon."""

import os
import shutil
import signal

import psutil
import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]


def edited(workspace: Workspace, old: str, new: str) -> None:
    text = kernel(workspace).read_text()
    assert old in text
    save(kernel(workspace), text.replace(old, new))


@pytest.mark.usefixtures("told_times")
def test_an_edit_during_the_baseline_is_measured(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("step_started", iteration=0, step="check")
    edited(workspace, "REPEAT 8", "REPEAT 2")
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")
    assert "REPEAT 2" in kernel(workspace).read_text()
    edited(workspace, "REPEAT 2", "REPEAT 1")
    daemon.until_event("iteration_ended", iteration=2, outcome="accepted")


@pytest.mark.usefixtures("told_times")
def test_an_edit_that_waits_is_not_overwritten(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    edited(workspace, "REPEAT 8", "REPEAT 4")
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")
    daemon.command("pause")
    edited(workspace, "REPEAT 4", "REPEAT 3")
    daemon.until_event("operator_edited", conflict=None, run="r1")
    daemon.until(lambda: len(daemon.events("operator_edited")) == 2, "the second edit")
    with pytest.raises(DaemonError, match="measured first"):
        daemon.command("rollback", iteration="r1.0")
    assert "REPEAT 3" in kernel(workspace).read_text()
    edited(workspace, "REPEAT 3", "REPEAT 4")  # taken back
    daemon.until(lambda: daemon.events("folder_known")[-1]["seq"] > daemon.events("operator_edited")[-1]["seq"], "that")
    daemon.command("resume")
    edited(workspace, "REPEAT 4", "REPEAT 1")
    daemon.until_event("iteration_ended", iteration=2, outcome="accepted")
    assert "REPEAT 1" in kernel(workspace).read_text()


@pytest.mark.usefixtures("told_times")
def test_a_note_waits_for_the_agent_and_pins_its_parameter(daemon: RealDaemon, workspace: Workspace) -> None:
    toml = workspace.tasks / "scale" / "task.toml"
    toml.write_text(toml.read_text().replace("[8, 1]", "[8, 7, 6, 5, 4, 3, 2, 1]"))
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    daemon.command("steer", text="let us see REPEAT=3 first")
    assert daemon.until_event("steering_consumed")["body"]["iteration"] == 1
    assert daemon.until_event("proposed", iteration=1)["body"]["point"] == {"REPEAT": "3"}
    daemon.until_event("run_ended")


def test_skip_gives_up_the_iteration_and_goes_on(daemon: RealDaemon) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    with pytest.raises(DaemonError, match="no iteration under way"):
        daemon.command("skip")
    daemon.until_event("step_started", iteration=1, step="time")
    daemon.command("skip")
    assert daemon.until_event("iteration_ended", iteration=1)["body"]["outcome"] == "skipped"
    # The point was proposed, so it is not proposed again: the space is exhausted.
    assert daemon.until_event("run_ended")["body"]["reason"].startswith("the sweep has tried all 2 points")


def test_a_helper_that_dies_is_started_again(daemon: RealDaemon) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    daemon.until_event("step_started", iteration=1, step="time")
    assert daemon.process is not None
    children = psutil.Process(daemon.process.pid).children()
    helper = next(child for child in children if "helper" in " ".join(child.cmdline()))
    helper.send_signal(signal.SIGKILL)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    links = [event["body"]["card"]["link"] for event in daemon.events("host_probed")]
    assert links[-1] == "up" and "down" in links[links.index("up") :]
    assert not daemon.events("run_paused")


@pytest.mark.usefixtures("told_times")
def test_a_stop_releases_the_queue_that_was_held_for_the_run(daemon: RealDaemon) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    daemon.command("run", task="scale", iterations=1)
    daemon.until_event("step_started", step="check")
    daemon.kill()
    daemon.start()
    assert daemon.query("status")["held"]
    daemon.command("stop")
    assert not daemon.query("status")["held"]
    assert daemon.until_event("run_ended", run="r2")["body"]["outcome"] in ("improved", "no_gain")


@pytest.mark.usefixtures("told_times")
def test_runs_thrown_away_under_an_unfinished_run(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    daemon.until_event("step_started", iteration=1, step="build")
    daemon.kill()
    shutil.rmtree(workspace.runs)
    daemon.start()
    daemon.command("resume")
    ended = daemon.until_event("run_ended")["body"]
    assert ended["outcome"] == "failed"
    assert "task" in ended["reason"]


def test_a_judge_that_was_tampered_with_ends_the_run(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    daemon.until_event("step_started", iteration=1, step="build")
    daemon.kill()
    harness = workspace.run_folder("scale", "r1") / "task" / "scale" / "harness.c"
    harness.write_text(harness.read_text().replace("2.0 * (double)", "0.0 * (double)"))
    daemon.start()
    daemon.command("resume")
    assert "was changed" in daemon.until_event("run_ended")["body"]["reason"]


@pytest.mark.usefixtures("told_times")
def test_rolling_back_a_run_while_another_works_on_its_task(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    daemon.until_event("run_ended")
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("task_pinned", run="r2")
    with pytest.raises(DaemonError, match="r2 works on scale now"):
        daemon.command("rollback", iteration="r1.0")
    daemon.command("stop", run="r2")
    daemon.command("rollback", iteration="r1.0")
    assert "REPEAT 8" in kernel(workspace).read_text()
    assert not daemon.events("operator_edited")


@pytest.mark.usefixtures("told_times")
def test_a_note_of_the_run_for_people(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    daemon.until_event("run_ended")
    folder = workspace.run_folder("scale", "r1")
    daemon.until((folder / "best" / "kernel.c").exists, "the report")
    assert "REPEAT 1" in (folder / "best" / "kernel.c").read_text()
    assert "| 1 | accepted |" in (folder / "report.md").read_text()
    assert (folder / "run.json").exists()


@pytest.mark.usefixtures("told_times")
@pytest.mark.parametrize("what", ["a pipe", "a device", "much too large"])
def test_an_editable_file_that_is_none_is_said(daemon: RealDaemon, workspace: Workspace, what: str) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    kept = kernel(workspace).read_text()
    kernel(workspace).unlink()
    match what:
        case "a pipe":
            os.mkfifo(kernel(workspace))
        case "a device":
            kernel(workspace).symlink_to("/dev/zero")
        case _:
            with kernel(workspace).open("wb") as file:
                file.truncate(400 << 20)
    notice = daemon.until_event("noticed", level="warning")["body"]["text"]
    assert "kernel.c" in notice
    kernel(workspace).unlink()
    save(kernel(workspace), kept.replace("REPEAT 8", "REPEAT 1"))
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")


def test_a_host_whose_folder_was_removed_is_made_ready_anew(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1, approve=True)
    daemon.until_event("screened", iteration=1)
    shutil.rmtree(workspace.host_root)  # while the candidate waits for its review, and nothing runs there
    daemon.command("approve")
    assert daemon.until_event("run_paused")["body"]["infra"] is True
    daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"


@pytest.mark.usefixtures("told_times")
def test_a_log_that_is_taken_away_holds_the_queue_until_it_is_back(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.until_event("host_probed")  # connecting, a host makes folders there
    away = workspace.root / "away"
    workspace.private.rename(away)
    with pytest.raises(DaemonError, match="was removed or replaced") as refused:
        daemon.command("run", task="scale", iterations=1)
    assert "put it back" in refused.value.remedy
    away.rename(workspace.private)
    daemon.command("run", task="scale", iterations=1)
    if daemon.query("queue")["held"]:
        daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
