"""Whole runs: a real daemon, a real compiler, real measurements, driven over the real socket."""

import json
import os
from pathlib import Path

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, leftovers, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]


def outcomes(daemon: RealDaemon) -> list[str]:
    return [event["body"]["outcome"] for event in daemon.events("iteration_ended")]


def test_a_sweep_finds_the_fast_point_and_everything_is_kept(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    assert daemon.command("run", task="scale") == {"run": "r1"}
    ended = daemon.until_event("run_ended")
    assert ended["body"]["outcome"] == "improved"
    assert outcomes(daemon)[:2] == ["baseline", "accepted"]
    assert "#define REPEAT 1" in kernel(workspace).read_text()
    folder = workspace.iteration_folder("scale", "r1", 1)
    assert {path.name for path in folder.iterdir()} >= {
        "candidate", "diff.patch", "memo.md", "build.log", "check.json", "timing.json", "verdict.json", "metrics.json",
        "findings.json",
    }  # fmt: skip
    assert "+#define REPEAT 1" in (folder / "diff.patch").read_text()
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["word"] == "faster"
    assert verdict["gain"]["pct"] > 50
    shown = daemon.query("show", iteration="r1.1")
    assert shown["detail"]["judged"]["verdict"] == verdict
    assert shown["detail"]["profiled"]["metrics"]
    answer = daemon.query("rederive", iteration="r1.1")
    assert answer["rederived"] == answer["recorded"]
    assert verdict.items() <= answer["recorded"].items()
    assert not daemon.events("operator_edited"), "kpd took its own write for an edit"


@pytest.mark.usefixtures("told_times")
def test_an_operators_edit_is_the_next_iteration(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    save(kernel(workspace), kernel(workspace).read_text().replace("REPEAT 8", "REPEAT 2"))
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")
    save(kernel(workspace), kernel(workspace).read_text().replace("REPEAT 2", "REPEAT 0"))
    wrong = daemon.until_event("iteration_ended", iteration=2)["body"]
    assert wrong["outcome"] == "rejected"
    assert wrong["reason"].startswith("incorrect:")
    daemon.command("memo", iteration="r1.2", text="one loop too few")
    assert "REPEAT 0" in kernel(workspace).read_text(), "a rejected edit stays the operator's"
    started = daemon.events("iteration_started")
    assert [event["body"]["agent"] for event in started][:3] == ["baseline", "operator", "operator"]
    assert daemon.query("show", iteration="r1.2")["iteration"]["memo"] == "one loop too few"


def test_a_protected_file_asks_for_a_new_baseline(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    harness = workspace.tasks / "scale" / "harness.c"
    save(harness, harness.read_text() + "/* easier */\n")
    assert daemon.until_event("baseline_stale")["body"]["files"] == ["harness.c"]


def test_without_the_profiler_it_is_known_what_needs_none(daemon: RealDaemon, workspace: Workspace) -> None:
    workspace.config.write_text('[run]\nprofile = "never"\n')
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    (profiled,) = [daemon.until_event("profiled")["body"]]
    assert profiled["metrics"].keys() >= {"call_us", "roofline_pct"} and "ipc" not in profiled["metrics"]
    assert profiled["missing"].keys() == {"counters"} and "profiling is off" in profiled["missing"]["counters"]
    assert "% of the roofline" in daemon.until_event("explained")["body"]["bottleneck"]


def test_what_does_not_compile_fails_with_the_line(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    save(kernel(workspace), kernel(workspace).read_text().replace("REPEAT 8", "REPEAT nonsense"))
    ended = daemon.until_event("iteration_ended", iteration=1)["body"]
    assert ended["outcome"] == "failed"
    assert "nonsense" in ended["reason"]


@pytest.mark.usefixtures("told_times")
def test_rollback_restores_the_files_and_refuses_over_an_edit(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    baseline = kernel(workspace).read_text()
    daemon.command("run", task="scale")
    daemon.until_event("run_ended")
    daemon.command("rollback", iteration="r1.0")
    assert kernel(workspace).read_text() == baseline
    with pytest.raises(DaemonError, match="incumbent already"):
        daemon.command("rollback", iteration="r1.0")
    save(kernel(workspace), baseline + "/* mine */\n")
    with pytest.raises(DaemonError, match="edited since"):
        daemon.command("rollback", iteration="r1.1")
    assert kernel(workspace).read_text().endswith("/* mine */\n")
    daemon.command("rollback", iteration="r1.1", force=True)
    assert "REPEAT 1" in kernel(workspace).read_text()
    kept = (workspace.run_folder("scale", "r1") / "edits").glob("*/kernel.c")
    assert [path.read_text().endswith("/* mine */\n") for path in kept] == [True]


def test_pause_steer_resume_stop(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    daemon.until_event("iteration_started", iteration=0)
    daemon.command("pause")
    note = daemon.command("steer", text="try a smaller REPEAT")["note"]
    daemon.command("steer", text="try REPEAT 1", note=note)
    withdrawn = daemon.command("steer", text="never mind")["note"]
    daemon.command("steer", text="", note=withdrawn)
    with pytest.raises(DaemonError, match="paused already"):
        daemon.command("pause")
    daemon.command("resume")
    consumed = daemon.until_event("steering_consumed")["body"]
    assert (consumed["notes"], consumed["iteration"]) == ([note], 1)
    with pytest.raises(DaemonError, match="consumed by iteration 1"):
        daemon.command("steer", text="too late", note=note)
    daemon.command("stop")
    assert daemon.events("run_ended")[0]["body"]["outcome"] == "stopped"
    assert not [p for p in leftovers(workspace) if "bench" in " ".join(p.cmdline())]


@pytest.mark.usefixtures("told_times")
def test_an_override_is_marked_as_such(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    save(kernel(workspace), kernel(workspace).read_text().replace("REPEAT 8", "REPEAT 9"))
    daemon.until_event("iteration_ended", iteration=1, outcome="rejected")
    daemon.command("accept", iteration="r1.1", reason="it is simpler")
    accepted = daemon.events("accepted")[-1]["body"]
    assert (accepted["iteration"], accepted["override"]["reason"]) == (1, "it is simpler")


def test_no_secret_reaches_what_a_run_leaves_behind(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    daemon.until_event("run_ended")
    daemon.command("shutdown")
    assert daemon.wait() == 0
    left = [Path(folder) / name for folder, _, names in os.walk(workspace.root) for name in names]
    files = [path for path in left if path.is_file()]
    assert len(files) > 20
    assert not [path for path in files if b"secret-that-must-not-leak" in path.read_bytes()]
