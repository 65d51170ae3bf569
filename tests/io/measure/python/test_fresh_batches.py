"""How many calls a batch has in the audit on fresh inputs: what it takes beside them must not hide a faster kernel."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

HARNESS = """\
import numpy as np
ENTRY = "kernel"
OUTPUTS = ("out",)
CASES = {"small": {"n": 64}}
def inputs(dims, draw):
    return {"a": draw.values(dims["n"])}
def truth(a):
    return 2 * a.astype(np.float64)
"""
FAST = "def kernel(a):\n    return 2 * a\n"
SLOW = "import time\ndef kernel(a):\n    time.sleep(0.005)\n    return 2 * a\n"
SCRIPT = """
import sys
from kpd.measure.python.host import main
sys.exit(main.main(["rtol=1e-5", "atol=1e-6", "fresh", "a.zip", "b.zip", "a", "100", "20000"]))
"""


def audit(folder: Path, incumbent: str, candidate: str) -> dict[str, Any]:
    """The audit's report of the one case."""
    (folder / "harness.py").write_text(HARNESS)
    for side, text in {"a": incumbent, "b": candidate}.items():
        with zipfile.ZipFile(folder / f"{side}.zip", "w") as archive:
            archive.writestr("kernel.py", text)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{SCRIPT}"]
    ended = subprocess.run(command, cwd=folder, input=b"1234\n", capture_output=True, check=False)
    report = json.loads(ended.stdout)
    assert (ended.returncode, report["problem"], ended.stderr) == (0, None, b"")
    found: dict[str, Any] = report["cases"]["small"]
    return found


@pytest.mark.parametrize(("incumbent", "candidate"), [(SLOW, FAST), (FAST, SLOW)])
def test_the_faster_kernel_says_how_many_calls_a_batch_has(tmp_path: Path, incumbent: str, candidate: str) -> None:
    assert audit(tmp_path, incumbent, candidate)["reps"] > 1


def test_a_batch_of_two_slow_kernels_has_one_call(tmp_path: Path) -> None:
    assert audit(tmp_path, SLOW, SLOW)["reps"] == 1
