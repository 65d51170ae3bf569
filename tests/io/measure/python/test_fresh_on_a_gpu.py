"""The audit on fresh inputs that a device makes, with libraries that pass for torch and for CUDA's driver."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.support.measure.on_a_gpu import RIGHT, environment, job

KEEPS = """
seen = {}
def kernel(a, b):
    at = a.array.ctypes.data, a.array.shape
    last = seen.get(at)
    if last is not None and np.count_nonzero(last != a.array) > len(last) // 2:
        WHERE_ALL_IS_NEW
    seen[at] = a.array.copy()
"""
BODY = RIGHT.partition("\n")[2]
TIMED = ("times", "a.zip", "b.zip", "4", "20000", "2", "100", "4", "1", "2")
LINES = "901 a -\n902 a fresh\n"


@pytest.fixture(name="environment", scope="module")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("cuda")) | {"KPD_IMPORTS": "numpy torch"}


def reports(folder: Path, environment: dict[str, str], text: str) -> list[dict[str, Any]]:
    """What a process of a contest reports, and the audit after it.

    On a busy machine the contest may lay other inputs at an address than before, and find what the audit is to find.
    """
    ended = job(folder, environment, KEEPS.replace("WHERE_ALL_IS_NEW", text) + BODY, TIMED, LINES)
    assert not ended.stderr, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def found(folder: Path, environment: dict[str, str], text: str) -> tuple[str, str]:
    """What is wrong, and who did it. A busy machine makes few calls: there are three tries."""
    for number in range(3):
        (folder / str(number)).mkdir()
        for one in reports(folder / str(number), environment, text):
            if problem := one["problem"]:
                return problem["kind"], problem["who"]
    return "nothing", "nobody"


def test_what_a_kernel_keeps_from_call_to_call_is_not_there(tmp_path: Path, environment: dict[str, str]) -> None:
    """Both have as many sets of inputs, so nothing tells an audit from a contest before its first call.

    The first call on a set has nothing to compare it with, so the first batch of the audit is as quick.
    """
    contest, fresh = reports(tmp_path, environment, "[np.sort(a.array) for _ in range(200)]")
    assert not contest["problem"] and not fresh["problem"]
    for name, case in fresh["cases"].items():
        known = contest["cases"][name]
        call, anew = (median(one["b_ns"]) / one["reps"] for one in (known, case))
        assert 4 * call < anew


def test_results_on_them_are_compared(tmp_path: Path, environment: dict[str, str]) -> None:
    assert found(tmp_path, environment, "return b") == ("wrong", "candidate")


def test_an_input_that_a_kernel_changes_there_is_found(tmp_path: Path, environment: dict[str, str]) -> None:
    assert found(tmp_path, environment, "a.array[0] += 1") == ("input", "candidate")
