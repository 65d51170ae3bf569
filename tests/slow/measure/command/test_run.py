"""A whole run of a task with its own benchmark: a real daemon, real processes, held-out cases, a score where more is
better."""

import json
import os
import re
from pathlib import Path

import pytest

from kpd.text.verdicts import UNCHECKED
from kpd.workspace.paths import Workspace
from tests.support.daemon.forked import run_kpd
from tests.support.daemon.real_daemon import RealDaemon, daemon, set_local, workspace

__all__ = ["daemon", "workspace"]

TOML = """
[task]
name = "rate"
language = "python"
editable = ["kernel.py"]
records = ["runs.csv", "profile/"]
[bench]
command = "python3 benchmark.py"
score = "rate"
direction = "higher"
[check]
unchecked = true
[final]
command = "python3 benchmark.py final"
[budget]
iterations = 3
[tune]
STEP = [1, 2, 3]
"""
# A step of 2 is twice as quick, and a step of 3 three times, but that is slow on the case that is held out.
# It appends to a ledger of its own, and believes a result that it finds in its cache: the kernel leaves one there.
BENCHMARK = """
import json, os, random, sys
known = os.path.exists("profile/best")
import kernel
open("runs.csv", "a").write(f"{kernel.STEP}\\n")
rate = 1e9 if known else 100.0 * kernel.STEP
if "final" not in sys.argv:
    rate *= random.uniform(0.999, 1.001)
elif kernel.STEP == 3:
    rate /= 10
print("warming up")
print(json.dumps({"rate": rate, "cases": [{"name": "all", "us": 1e6 / rate}]}))
"""

KERNEL = "STEP = 1\nopen('profile/best', 'w').write('1e9')\n"
JUDGED = ("baseline", "accepted", "rejected")


def make(workspace: Workspace, benchmark: str = BENCHMARK) -> Path:
    folder = workspace.tasks / "rate"
    folder.mkdir()
    (folder / "task.toml").write_text(TOML)
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "runs.csv").write_text("of another time\n")
    (folder / "benchmark.py").write_text(benchmark)
    return folder


def verb_of(workspace: Workspace, *words: str) -> str:
    done = run_kpd("-w", str(workspace.root), *words, env=os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_sweep_over_a_task_with_its_own_benchmark(daemon: RealDaemon, workspace: Workspace) -> None:
    folder = make(workspace)
    daemon.start()
    daemon.command("run", task="rate")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert (folder / "kernel.py").read_text() == KERNEL.replace("1\n", "2\n", 1)
    shown = {
        event["body"]["iteration"]: daemon.query("show", iteration=f"r1.{event['body']['iteration']}")
        for event in daemon.events("iteration_ended")
    }
    shown = {number: one for number, one in shown.items() if one["iteration"]["outcome"] in JUDGED}
    by_step = {one["iteration"]["point"].get("STEP", "1"): one["iteration"] for one in shown.values()}
    assert {step: it["outcome"] for step, it in by_step.items()} == {"1": "baseline", "2": "accepted", "3": "rejected"}
    assert {step: round(it["score"] / 10) for step, it in by_step.items()} == {"1": 10, "2": 20, "3": 30}
    assert "; held out: rate 100" in by_step["1"]["verdict"]["reason"]
    assert "; held out: rate 200 against 100" in by_step["2"]["verdict"]["reason"]
    assert by_step["3"]["reason"].startswith("slower on the held-out cases: rate 30")
    assert (folder / "runs.csv").read_text() == "of another time\n"
    for number, one in shown.items():
        kept = workspace.iteration_folder("rate", "r1", number)
        step = one["iteration"]["point"].get("STEP", "1")
        assert (kept / "records/time-1/runs.csv").read_text() == f"{step}\n"
        assert json.loads((kept / "records.json").read_text())["files"] == {"runs.csv": 2, "profile/best": 3}
        assert json.loads((kept / "final.json").read_text())["name"] == "rate"
        assert one["detail"]["timed"]["cases"][0]["case"] == "all"
        found = daemon.query("rederive", iteration=f"r1.{number}")
        assert found["rederived"] == found["recorded"]
    report = (workspace.run_folder("rate", "r1") / "report.md").read_text()
    assert "2.00×" in report
    assert f"**{UNCHECKED}**" in report
    assert "r1: the baseline takes up to 30 runs of " in str(daemon.query("status")["notices"])
    assert f"- {UNCHECKED}" in (workspace.memory / "rate.md").read_text()
    assert daemon.query("status")["runs"]["r1"]["unchecked"] is True
    for verb, told in ((("status",), "unchecked"), (("show", "r1.1"), "nothing compares the results of this task")):
        assert told in " ".join(verb_of(workspace, *verb).split())


LATE = """
[task]
name = "%s"
language = "python"
editable = ["kernel.py"]
baseline = "%s"
[bench]
command = "python3 benchmark.py"
"""
JUDGED_LATE = """
import json, kernel
print(json.dumps({"ok": kernel.RIGHT, "best_us": kernel.US, "cases": [{"name": "all", "us": kernel.US}]}))
"""


@pytest.mark.parametrize(("baseline", "begins"), [("wrong", 1), ("absent", 0)])
def test_a_task_without_a_right_baseline_begins_and_the_first_right_candidate_is_its_baseline(
    daemon: RealDaemon, workspace: Workspace, baseline: str, begins: int
) -> None:
    folder = workspace.tasks / "late"
    folder.mkdir()
    (folder / "task.toml").write_text(LATE % ("late", baseline))
    (folder / "benchmark.py").write_text(JUDGED_LATE)
    if baseline == "wrong":
        (folder / "kernel.py").write_text("RIGHT, US = False, 1.0\n")
    for number, text in enumerate(
        ("RIGHT, US = False, 50.0\n", "RIGHT, US = True, 80.0\n", "RIGHT, US = True, 40.0\n")
    ):
        candidate = workspace.root / "candidates" / str(number)
        candidate.mkdir(parents=True)
        (candidate / "kernel.py").write_text(text)
    daemon.start()
    daemon.command("run", task="late", agent="script:candidates", iterations=2)
    daemon.until_event("run_ended")
    ended = {e["body"]["iteration"]: e["body"]["outcome"] for e in daemon.events("iteration_ended")}
    own = {0: "rejected"} if begins else {}
    assert ended == {**own, begins: "rejected", begins + 1: "baseline", begins + 2: "accepted", begins + 3: "measured"}
    assert (folder / "kernel.py").read_text() == "RIGHT, US = True, 40.0\n"
    told = daemon.query("status")["runs"]["r1"]["headline"]
    assert (round(told["speedup"]["ratio"]), told["first"]) == (2, begins + 1)
    over = f"measured, over iteration {begins + 1}"
    report = (workspace.run_folder("late", "r1") / "report.md").read_text()
    assert f"{over}, the first right candidate, as the task's own files are no right baseline." in report
    for verb in (("status",), ("show", f"r1.{begins + 2}")):
        assert over in " ".join(verb_of(workspace, *verb).split())


def test_a_run_whose_first_right_candidate_is_flagged_waits_for_a_person_and_has_not_failed(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    folder, candidate = workspace.tasks / "late", workspace.root / "candidates" / "1"
    folder.mkdir()
    (folder / "task.toml").write_text(LATE % ("late", "absent"))
    (folder / "benchmark.py").write_text(JUDGED_LATE)
    candidate.mkdir(parents=True)
    (candidate / "kernel.py").write_text("import time\nRIGHT, US = True, time.perf_counter() + 80.0\n")
    daemon.start()
    daemon.command("run", task="late", agent="script:candidates", iterations=1)
    ended = daemon.until_event("run_ended")["body"]
    assert (ended["outcome"], daemon.events("iteration_ended")[0]["body"]["outcome"]) == ("no_gain", "held")
    assert "r1.0" in verb_of(workspace, "held") and not (folder / "kernel.py").exists()
    daemon.command("accept", iteration="r1.0")
    assert (folder / "kernel.py").read_bytes() == (candidate / "kernel.py").read_bytes()
    assert daemon.query("show", iteration="r1.0")["iteration"]["outcome"] == "baseline"


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


def test_what_nothing_compares_is_not_believed_beyond_a_limit(daemon: RealDaemon, workspace: Workspace) -> None:
    folder = make(workspace, BENCHMARK.replace("100.0 * kernel.STEP", "100.0 * kernel.STEP**10"))
    daemon.start()
    daemon.command("run", task="rate")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "no_gain"
    told = [event["body"]["about"] for event in daemon.events("noticed")]
    (cost,) = [about for about in told if about["kind"] == "baseline_cost"]
    assert cost["runs"] == 30 and 0 < cost["seconds"] < 5
    reasons = [event["body"]["reason"] for event in daemon.events("iteration_ended")]
    doubt = re.search(r"implausible: (\d+) times as good in one step, and nothing compares its results", reasons[1])
    assert doubt is not None and abs(int(doubt[1]) - 1024) < 32
    assert (folder / "kernel.py").read_text() == KERNEL


@pytest.mark.parametrize(
    ("printed", "asked"),
    [
        ('{"rate"', "does not say whether it is right; let it print"),
        ('{"status": "fine", "rate"', 'if it is, write good = ["fine"] in [check] of task.toml'),
        ('{"status": "INCORRECT", "rate"', "INCORRECT"),
    ],
)
def test_a_baseline_that_does_not_say_it_is_right_stops_with_a_question(
    daemon: RealDaemon, workspace: Workspace, printed: str, asked: str
) -> None:
    folder = make(workspace, BENCHMARK.replace('{"rate"', printed))
    (folder / "task.toml").write_text(TOML.replace("unchecked = true", ""))
    daemon.start()
    daemon.command("run", task="rate")
    ended = daemon.until_event("run_ended")["body"]
    assert ended["outcome"] == "failed"
    assert asked in ended["reason"]


def test_a_machine_too_busy_for_the_last_contest_leaves_the_number_unconfirmed(
    daemon: RealDaemon, workspace: Workspace, tmp_path: Path
) -> None:
    """Whoever replaces the device's lock may have measured beside this run, so the contest counts for nothing."""
    leases = tmp_path / "leases"
    set_local(workspace, leases=str(leases))
    lock = leases / "cpu.lock"
    replace = f"Path({str(lock)!r}).unlink(True)"
    disturb = f"from pathlib import Path\nif '/r1.2.1-time' in str(Path.cwd()): {replace}\n"
    make(workspace, disturb + BENCHMARK)
    daemon.start()
    daemon.command("run", task="rate", iterations=1)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    last = daemon.query("show", iteration="r1.2")["iteration"]
    assert (last["confirming"], last["outcome"], last["cause"]["kind"]) == ("end", "infra", "too_busy")
    headline = daemon.query("status")["runs"]["r1"]["headline"]
    assert (headline["how"], headline["of"], headline["by"]) == ("unconfirmed", 1, None)
    assert ", not confirmed" in verb_of(workspace, "status")
    report = (workspace.run_folder("rate", "r1") / "report.md").read_text()
    assert "It could not be measured against the baseline: local: the lease on cpu was lost" in report
