"""A worker is asked to hold a result: it may not take as long as it likes, whatever the kernel makes of that."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.measure.python_tasks import HARNESS

SCRIPT = """
import sys
from kpd.measure.python.host import held, main
held.ASKED_MS, held.HELD = {limit_ms}, 1
sys.exit(main.main(["rtol=1e-5", "atol=1e-6", "repeat", "b.zip", "no", "200", "20000"]))
"""
LEAVES = """
import sys, time
import numpy as np
class Memory:
    def __init__(self, content):
        self.content = content
        self.__array_interface__ = content.__array_interface__
    def __del__(self):
        if sys._getframe(1).f_code.co_name == "hold":
            time.sleep({seconds})
def kernel(a, b):
    return np.asarray(Memory(2 * a + b))
"""
REPLACES = """
import time
from kpd.measure.python.host import worker
worker.Kernels.hold = lambda *args: time.sleep({seconds})
def kernel(a, b):
    return 2 * a + b
"""


def problem(folder: Path, kernel: str, limit_ms: int) -> dict[str, Any] | None:
    """What is wrong with a kernel in its repeats, where a worker has so long for anything but calls."""
    (folder / "harness.py").write_text(HARNESS)
    with zipfile.ZipFile(folder / "b.zip", "w") as archive:
        archive.writestr("kernel.py", kernel)
    script = f"import sys; sys.path.insert(0, {str(folder)!r})\n{SCRIPT.format(limit_ms=limit_ms)}"
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, cwd=folder, input=b"77\n", capture_output=True, check=False, timeout=120)
    found: dict[str, Any] | None = json.loads(ended.stdout)["problem"]
    return found


@pytest.mark.parametrize("kernel", [LEAVES, REPLACES], ids=["in a destructor", "in the worker's place"])
def test_a_kernel_that_is_not_done_with_holding_a_result_is_ended_and_blamed(tmp_path: Path, kernel: str) -> None:
    found = problem(tmp_path, kernel.format(seconds=3600), 500)
    assert found is not None
    assert (found["kind"], found["who"], found["message"]) == ("timeout", "candidate", "no answer within 0.5 s")


def test_one_that_takes_a_moment_for_it_is_not(tmp_path: Path) -> None:
    assert problem(tmp_path, LEAVES.format(seconds=0.01), 5000) is None
