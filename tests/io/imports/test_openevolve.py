"""What an OpenEvolve evaluator returns: which figure is the score, and what is a failure."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kpd.imports.bringing import bring
from kpd.imports.draft import Answers
from kpd.imports.errors import Unclear
from kpd.workspace.task import load_task
from tests.support.imports import harnessgym as gym
from tests.support.imports.folders import written

SAID = Answers(score="metrics.runtime_s", direction="lower")


def example(folder: Path, metrics: str) -> Path:
    evaluator = f"def evaluate(path):\n    return {metrics}\n"
    return written(folder, {"initial_program.py": "def f():\n    return 1\n", "evaluator.py": evaluator})


def ran(folder: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "kpd_bench.py"], cwd=folder, capture_output=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(
    ("answers", "flags"),
    [
        (Answers(), ["--score", "--direction"]),
        (Answers(score="metrics.runtime_s"), ["--direction"]),
        (Answers(direction="lower"), ["--score"]),
    ],
)
def test_without_a_named_score_the_operator_is_asked(tmp_path: Path, answers: Answers, flags: list[str]) -> None:
    folder = example(tmp_path / "a", '{"runtime_s": 2.0, "error": ""}')
    with pytest.raises(Unclear) as asked:
        bring(folder, tmp_path / "b", "one", answers)
    assert [question.flag for question in asked.value.questions] == flags
    found = [question.choices for question in asked.value.questions if question.flag == "--score"]
    assert found in ([], [("metrics.runtime_s",)])


def test_the_operators_score_is_the_score(tmp_path: Path) -> None:
    found = bring(example(tmp_path / "a", '{"runtime_s": 2.0, "speed": 3}'), tmp_path / "b", "one", SAID)
    bench = load_task(found.folder).bench
    assert (bench.score, bench.direction) == ("metrics.runtime_s", "lower")
    assert ran(found.folder) == {"ok": True, "errors": [], "metrics": {"runtime_s": 2.0, "speed": 3.0}}


@pytest.mark.parametrize(
    ("metrics", "score", "errors"),
    [
        ('{"combined_score": 4, "is_valid": True}', 4, []),
        ('{"combined_score": 4, "is_valid": False}', 4, ["is_valid is False"]),
        ('{"combined_score": 4, "timed_out": False}', 4, []),
        ('{"combined_score": 4, "timed_out": True}', 4, ["timed_out is True"]),
        ('{"combined_score": True}', None, ["the score has to be a number above 0: combined_score is True"]),
        ('{"overall_score": 2, "combined_score": 3}', 3, []),
        (
            '{"combined_score": (0.9, 1.2)}',
            None,
            ["the score has to be a number above 0: combined_score is (0.9, 1.2)"],
        ),
        ('{"combined_score": 0.0}', 0, ["the score has to be a number above 0: combined_score is 0.0"]),
        ('{"combined_score": 1, "validity": 0.9}', 1, ["validity is 0.9: less than all is right"]),
        ('{"combined_score": 1, "correctness": float("nan")}', 1, ["correctness is nan: less than all is right"]),
        ('{"combined_score": 1, "error": "no memory"}', 1, ["no memory"]),
    ],
)
def test_figures_and_flags(tmp_path: Path, metrics: str, score: float | None, errors: list[str]) -> None:
    found = bring(example(tmp_path / "a", metrics), tmp_path / "b", "one", Answers())
    said = ran(found.folder)
    assert (said["score"], said["ok"], said["errors"]) == (score, not errors, errors)


@pytest.mark.parametrize("unchecked", [False, True])
def test_an_evaluator_is_not_known_to_compare(tmp_path: Path, unchecked: bool) -> None:
    said = Answers(unchecked=unchecked)
    found = bring(example(tmp_path / "a", '{"combined_score": 4}'), tmp_path / "b", "one", said)
    assert (found.draft.checked, load_task(found.folder).check.unchecked) == (False, unchecked)


@pytest.mark.parametrize("unchecked", [False, True])
def test_neither_is_a_verifier_that_prints_a_time(tmp_path: Path, unchecked: bool) -> None:
    files = {"task.md": gym.TASK, "kernel.py": gym.KERNEL, "verifier.py": gym.TIMED}
    found = bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers(unchecked=unchecked))
    assert (found.draft.checked, load_task(found.folder).check.unchecked) == (False, unchecked)
