"""The prompt says what a candidate's results are compared with, also where that is nothing."""

from dataclasses import replace
from pathlib import Path

from kpd.agents.prompt.ground_rules import role
from kpd.workspace.specs import BenchSpec, CheckSpec
from tests.support.model.samples import run_of, task_of


def test_what_the_results_are_compared_with(tmp_path: Path) -> None:
    task, run = task_of(tmp_path, {}), run_of()
    assert "with a double-precision oracle" in role(task, run, "cpu")
    assert "with the baseline's outputs" in role(replace(task, check=CheckSpec(truth="baseline")), run, "cpu")
    own = replace(task, bench=BenchSpec(command="./bench"))
    assert "must pass the task's own check" in role(own, run, "cpu")
    unchecked = role(replace(own, check=CheckSpec(unchecked=True)), run, "cpu")
    assert "Nothing checks the results" in unchecked and "own check" not in unchecked
