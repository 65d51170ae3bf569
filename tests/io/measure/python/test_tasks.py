"""The example tasks for kpd's own runner, and the candidates prepared for them: what can be said without a GPU."""

import ast
from pathlib import Path

import pytest

from kpd.agents.precheck import precheck
from kpd.agents.space import read_point
from kpd.measure.catalogue import device_of
from kpd.measure.screen import suspicious
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task, load_task
from tests.places import ROOT

TASKS = (
    "layernorm_torch", "matmul_triton", "rmsnorm_silu_gate_h100", "rmsnorm_triton", "silu_mul_cute", "softmax_triton",
)  # fmt: skip
CANDIDATES = sorted((ROOT / "benchmarks" / "python_candidates").glob("*/*/"))


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Task:
    return load_task(ROOT / "tasks" / request.param)


def names(path: Path) -> set[str]:
    """The functions and the strings assigned at the beginning of a file."""
    body = ast.parse(path.read_text()).body
    found = {one.name for one in body if isinstance(one, ast.FunctionDef)}
    assigned = (one.value for one in body if isinstance(one, ast.Assign))
    return found | {one.value for one in assigned if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def test_it_is_measured_on_a_gpu_by_kpds_own_runner(task: Task) -> None:
    assert device_of(task.language, task.need) == "gpu"
    assert task.bench.command is None
    assert names(task.folder / "kernel.py") & names(task.folder / "harness.py"), "ENTRY is a function of kernel.py"


def test_the_sweep_can_set_every_constant_of_the_space(task: Task) -> None:
    at = read_point(task, read_files(task.folder, task.editable))
    assert all(at[name] in values for name, values in task.tune.items())


@pytest.mark.parametrize("folder", CANDIDATES, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_a_prepared_candidate_would_be_measured_and_is_not_flagged(folder: Path) -> None:
    """Launching what is kept, with new pointers, is honest: nothing of it looks like a cheat."""
    task = load_task(ROOT / "tasks" / folder.parent.name)
    incumbent = read_files(task.folder, task.editable)
    candidate = {"kernel.py": (folder / "kernel.py").read_bytes()}
    precheck(task, incumbent, candidate)
    assert suspicious(incumbent, candidate, task.protected) == ()
    memo = (folder / "memo.md").read_text()
    assert memo.startswith("MEMO: [")
    assert "\nEXPECT: " in memo


@pytest.mark.parametrize("task", ["layernorm_torch", "matmul_triton", "silu_mul_cute", "softmax_triton"])
def test_a_task_has_candidates_that_are_right_and_some_that_are_not(task: str) -> None:
    wrong = {folder.name.startswith("wrong") for folder in CANDIDATES if folder.parent.name == task}
    assert wrong == {True, False}
