"""Some attacks of each class and some honest kernels, through a real daemon; benchmarks/cheats.py has them all."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.places import TESTS

pytestmark = pytest.mark.alone
BENCHMARK = TESTS.parent / "benchmarks" / "cheats.py"
CHEATS = "rmsnorm_diff_copy,low_precision_mantissa_11,ends_exit,rival_pointer,wears_out,slow_for_few_inputs,leaks_page"
SELDOM = "stalls_seldom"
"""It stalls in one call of 500, which not all of its contests show on a slow machine."""
INTRUDERS = "parents_stdin,task_files,authorized_keys_absolute"
HONEST = "t_blocked_b16,h_tables_static8"


def _tried(names: str) -> list[dict[str, Any]]:
    done = subprocess.run([sys.executable, BENCHMARK, "--only", names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["tried"] == found["asked"] == len(names.split(","))
    each: list[dict[str, Any]] = found["each"]
    return each


def test_honest_kernels_are_not_refused() -> None:
    assert [one["name"] for one in _tried(HONEST) if one["verdict"] == "refused"] == []


def test_cheats_are_not_accepted() -> None:
    assert [one["name"] for one in _tried(CHEATS) if one["verdict"] == "accepted"] == []
    assert not all(_tried(SELDOM)[0]["verdict"] == "accepted" for _ in range(3))


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")
def test_intruders_stop_nothing_and_leave_nothing() -> None:
    assert [
        (one["name"], one["stopped"], one["left"]) for one in _tried(INTRUDERS) if one["stopped"] or one["left"]
    ] == []
