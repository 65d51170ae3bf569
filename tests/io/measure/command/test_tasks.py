"""The example tasks that bring their own benchmark: their folders' contracts, and what of them runs without a GPU."""

import subprocess
import sys

import pytest

from kpd.agents.space import read_point
from kpd.measure.catalogue import device_of
from kpd.model.hosts import Need
from kpd.workspace.languages import LANGUAGES
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task, load_task
from tests.places import ROOT

TASKS = ROOT / "tasks"
KERNEL_PILOT = {"prompt.md", "interface.md", "benchmark.py", "src/layernorm.py", "tests/test_correctness.py"}
FOLDERS = {"layernorm_pilot": KERNEL_PILOT}
MOST_LINES = 14


@pytest.fixture(params=FOLDERS)
def task(request: pytest.FixtureRequest) -> Task:
    return load_task(TASKS / request.param)


def test_another_projects_folder_needs_a_short_task_toml_and_nothing_else(task: Task) -> None:
    assert {*task.protected, *task.editable} == FOLDERS[task.name] | {"task.toml"}
    assert len((task.folder / "task.toml").read_text().splitlines()) <= MOST_LINES
    assert device_of(task.language, task.need) == "gpu"


def test_every_file_of_it_is_python_that_says_what_it_takes_without_torch(task: Task) -> None:
    for path in (name for name in (*task.protected, *task.editable) if name.endswith(".py")):
        compile((task.folder / path).read_text(), path, "exec")
    for command in (task.bench.command, task.final.command, task.profile.command):
        if command is not None:
            program, *flags = command.split()[1:]
            said = subprocess.run(
                [sys.executable, "-B", program, "--help"], cwd=task.folder, capture_output=True, text=True
            )
            assert said.returncode == 0, said.stderr
            assert all(flag in said.stdout for flag in flags if flag.startswith("--"))


def test_the_sweep_can_set_every_constant_of_the_space(task: Task) -> None:
    at = read_point(task, read_files(task.folder, task.editable))
    assert all(at[name] in values for name, values in task.tune.items())


@pytest.mark.parametrize(
    ("language", "need", "device"),
    [
        ("triton", Need(), "gpu"),
        ("triton", Need(device="cpu"), "cpu"),
        ("python", Need(), "cpu"),
        ("python", Need(gpu="H100"), "gpu"),
        ("command", Need(arch="sm_90"), "gpu"),
        ("command", Need(arch="x86_64"), "cpu"),
        ("command", Need(device="gpu"), "gpu"),
        ("c", Need(arch="aarch64"), "cpu"),
        ("unknown to this kpd", Need(), "cpu"),
    ],
)
def test_what_a_task_is_measured_on(language: str, need: Need, device: str) -> None:
    assert device_of(language, need) == device


def test_every_language_has_a_bench() -> None:
    assert {"triton", "python", "command"} <= set(LANGUAGES.names())
