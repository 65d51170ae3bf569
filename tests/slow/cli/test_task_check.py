"""kpd task check: what it builds, runs and says of a task, on this machine."""

import json
import re
import sys
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.cli.task_trial import FEWEST_SEEDS, SEEDS, TrialPlace
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.task import load_task
from tests.support.cli.roots import root
from tests.support.measure.python_tasks import RIGHT, TOML as RUNNER_TOML, small_task

__all__ = ["root"]

TOML = """
[task]
name = "own"
language = "python"
editable = ["kernel.py"]
[bench]
command = "python3 benchmark.py"
"""
BENCHMARK = """
import json, kernel
print(json.dumps({"status": kernel.STATUS, "best_us": 5.0, "cases": {"small": 2.0, "large": 8.0}}))
"""


def own(root: Path, status: str, more: str = "") -> None:
    folder = root / "tasks" / "own"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(TOML + more)
    (folder / "kernel.py").write_text(f"STATUS = {status!r}\n")
    (folder / "benchmark.py").write_text(BENCHMARK)


def test_a_new_task_passes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-w", str(root), "task", "new", "mine"]) == 0
    capsys.readouterr()
    assert main(["-w", str(root), "task", "check", "mine"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("✓ mine\n    worst element at ")
    seeds = re.search(r"over (\d+) seeds x 5 kinds", told)
    assert seeds is not None, told
    assert FEWEST_SEEDS <= int(seeds[1]) <= SEEDS, "as many as there was time for"
    assert "!" not in told


def test_a_small_task_in_python_whose_own_kernel_is_the_truth(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_baseline = ("--truth", "baseline")
    assert main(["-w", str(root), "task", "new", "mine", "--lang", "python", *by_baseline]) == 0
    folder = root / "tasks" / "mine"
    assert "def truth" not in (folder / "harness.py").read_text()
    toml = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text(toml.replace('"python3"', f'"{sys.executable}"'))
    assert main(["-w", str(root), "task", "check", "mine"]) == 0
    assert "worst element at 0 of the tolerance" in capsys.readouterr().out
    for other in (["--lang", "c"], ["--like", "matmul"]):
        assert main(["-w", str(root), "task", "new", "other", *other, *by_baseline]) == 64
        assert "truth" in capsys.readouterr().err


def test_a_task_with_commands_is_run_once_and_says_what_was_understood(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own(root, "PASS")
    assert main(["-w", str(root), "task", "check", "own"]) == 0
    told = capsys.readouterr().out
    assert "✓ own\n    score best_us = 5 (lower is better), 2 cases (small, large)\n" in told
    assert "says about its correctness: status = PASS" in told
    assert "is timed in up to 30 runs" in told
    assert "timed on all CPUs" in told


def test_a_task_with_commands_and_weights_is_judged_by_its_cases(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own(root, "PASS", "[need]\ncpus = 1\n[cases.small]\nweight = 3\n")
    assert main(["-w", str(root), "task", "check", "own"]) == 0
    told = capsys.readouterr().out
    assert "score: the mean time of the cases by their weights, 2 cases (small, large)\n" in told
    assert "timed on one CPU" in told


def test_a_word_that_is_not_known_is_asked_about_before_any_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own(root, "fine")
    assert main(["-w", str(root), "task", "check", "--json", "own"]) == 64
    (told,) = json.loads(capsys.readouterr().out)
    assert not told["ok"]
    assert 'write good = ["fine"] in [check] of task.toml' in told["problems"][0]


def test_an_unchecked_task_is_told_as_such(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own(root, "PASS", "[check]\nunchecked = true\n")
    assert main(["-w", str(root), "task", "check", "own"]) == 0
    assert "! unchecked: nothing compares the results" in capsys.readouterr().out


def test_a_native_task_says_its_margin_and_the_lack_of_optimisation(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-w", str(root), "task", "new", "mine"]) == 0
    folder = root / "tasks" / "mine"
    (folder / "build.json").write_text('{"flags": ""}')
    toml = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text(toml.replace("seeds = 3", "rtol = 1e-5\natol = 1e-6"))
    kernel = (folder / "kernel.c").read_text()
    (folder / "kernel.c").write_text(kernel.replace("2.0f * a[i] + b[i]", "(2.0f * a[i] + b[i]) * 1.000007f"))
    capsys.readouterr()
    assert main(["-w", str(root), "task", "check", "--json", "mine"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert 0.5 < told["margin"] < 1
    assert told["notes"][1] == "timed on one CPU"
    assert "may be refused" in told["warnings"][0]
    assert "does not optimise (-O0)" in told["warnings"][1]


def test_a_check_that_will_take_longer_than_its_limit_is_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-w", str(root), "task", "new", "mine"]) == 0
    toml = root / "tasks" / "mine" / "task.toml"
    toml.write_text(toml.read_text().replace("seeds = 3", "limit_s = 0.001"))
    capsys.readouterr()
    assert main(["-w", str(root), "task", "check", "mine"]) == 0
    assert "s here, and limit_s in [check] is 0.001: raise it" in capsys.readouterr().out


def test_a_kernel_that_is_wrong_is_a_problem_of_the_task(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-w", str(root), "task", "new", "mine"]) == 0
    kernel = root / "tasks" / "mine" / "kernel.c"
    kernel.write_text(kernel.read_text().replace("2.0f * a[i]", "3.0f * a[i]"))
    capsys.readouterr()
    assert main(["-w", str(root), "task", "check", "mine"]) == 64
    assert "times the tolerance" in capsys.readouterr().out
    assert main(["-w", str(root), "task", "check", "--static", "mine"]) == 0


def test_what_one_trial_has_measured_the_next_one_uses(tmp_path: Path) -> None:
    toml = RUNNER_TOML.replace("rtol = 1e-5\natol = 1e-6\n", "")
    task = load_task(small_task(tmp_path, toml=toml))
    with TrialPlace(task, HostConfig()) as place:
        assert not place.own().problems

        def jobs() -> set[str]:
            return {path.name for path in (place.folder / "jobs").iterdir()}

        before = jobs()
        assert {name.partition("-")[0] for name in before} >= {"harness", "bounds", "python"}
        wrong = {"kernel.py": RIGHT.replace("2 * a", "3 * a").encode()}
        told = list(place.changed([wrong, {}, {"kernel.py": b"def kernel(a, b):\n    return 1 / 0\n"}]))
        assert "times the tolerance" in told[0].problems[0]
        assert not told[1].problems
        assert "ZeroDivisionError" in told[2].problems[0]
        assert {name.partition("-")[0] for name in jobs() - before} == {"python", "each"}


def test_candidates_are_tried_one_by_one_where_one_cannot_be_built(tmp_path: Path) -> None:
    with TrialPlace(load_task(small_task(tmp_path)), HostConfig()) as place:
        right, wrong = place.changed([{}, {"kernel.py": b"def kernel(a, b:\n"}])
        assert not right.problems
        assert "kernel.py" in wrong.problems[0]


def test_what_this_machine_cannot_run_is_not_said_to_fail(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    task = load_task(small_task(tmp_path, toml=RUNNER_TOML.replace(sys.executable, str(python))))
    with TrialPlace(task, HostConfig()) as place:
        (wrong,) = place.changed([{"kernel.py": RIGHT.replace("2 * a", "3 * a").encode()}])
        python.unlink()
        (unknown,) = place.changed([{"kernel.py": RIGHT.encode()}])
    assert (bool(wrong.problems), wrong.untried) == (True, False)
    assert (bool(unknown.problems), unknown.untried) == (True, True)
    assert str(python) in unknown.problems[0]
