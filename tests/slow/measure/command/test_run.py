"""A whole run of a task with its own benchmark: a real daemon, real processes, held-out cases, a score where more is
better."""

import json
from pathlib import Path

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

TOML = """
[task]
name = "rate"
language = "python"
editable = ["kernel.py"]
[bench]
command = "python3 benchmark.py"
score = "rate"
direction = "higher"
[final]
command = "python3 benchmark.py final"
[budget]
iterations = 3
[tune]
STEP = [1, 2, 3]
"""
# A step of 2 is twice as quick, and a step of 3 three times, but that is slow on the case that is held out.
BENCHMARK = """
import json, random, sys, kernel
rate = 100.0 * kernel.STEP
if "final" not in sys.argv:
    rate *= random.uniform(0.999, 1.001)
elif kernel.STEP == 3:
    rate /= 10
print("warming up")
print(json.dumps({"rate": rate, "cases": [{"name": "all", "us": 1e6 / rate}]}))
"""


def make(workspace: Workspace, benchmark: str = BENCHMARK) -> Path:
    folder = workspace.tasks / "rate"
    folder.mkdir()
    (folder / "task.toml").write_text(TOML)
    (folder / "kernel.py").write_text("STEP = 1\n")
    (folder / "benchmark.py").write_text(benchmark)
    return folder


def test_a_sweep_over_a_task_with_its_own_benchmark(daemon: RealDaemon, workspace: Workspace) -> None:
    folder = make(workspace)
    daemon.start()
    daemon.command("run", task="rate")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert (folder / "kernel.py").read_text() == "STEP = 2\n"
    shown = {
        event["body"]["iteration"]: daemon.query("show", iteration=f"r1.{event['body']['iteration']}")
        for event in daemon.events("iteration_ended")
    }
    shown = {number: one for number, one in shown.items() if one["iteration"]["verdict"]}
    by_step = {one["iteration"]["point"].get("STEP", "1"): one["iteration"] for one in shown.values()}
    assert {step: it["outcome"] for step, it in by_step.items()} == {"1": "baseline", "2": "accepted", "3": "rejected"}
    assert {step: round(it["score"] / 10) for step, it in by_step.items()} == {"1": 10, "2": 20, "3": 30}
    assert "; held out: rate 100" in by_step["1"]["verdict"]["reason"]
    assert "; held out: rate 200 against 100" in by_step["2"]["verdict"]["reason"]
    assert by_step["3"]["reason"].startswith("slower on the held-out cases: rate 30")
    for number, one in shown.items():
        kept = workspace.iteration_folder("rate", "r1", number)
        assert json.loads((kept / "final.json").read_text())["name"] == "rate"
        assert one["detail"]["timed"]["cases"][0]["case"] == "all"
        found = daemon.query("rederive", iteration=f"r1.{number}")
        assert found["rederived"] == found["recorded"]
    report = (workspace.run_folder("rate", "r1") / "report.md").read_text()
    assert "2.00 times the baseline's speed" in report


def test_a_held_out_case_that_cannot_be_run_is_known_before_anything_is_tried(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    make(
        workspace,
        BENCHMARK.replace("rate /= 10", "pass").replace(
            "import json", "import sys; 'final' in sys.argv and 1 / 0\nimport json"
        ),
    )
    daemon.start()
    daemon.command("run", task="rate")
    ended = daemon.until_event("run_ended")["body"]
    assert ended["outcome"] == "failed"
    assert "incorrect on the held-out cases" in ended["reason"]
    assert "ZeroDivisionError" in ended["reason"]
