"""Where the inputs of cases lie that are timed: all at once, or each when its turn comes."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HARNESS = """\
import numpy as np
ENTRY = "kernel"
OUTPUTS = ("out",)
CASES = {"short": {"n": 5}, "long": {"n": 40_001}, "odd": {"n": 4099}}
def inputs(dims, draw):
    return {"a": draw.values(dims["n"]), "b": draw.values(dims["n"])}
def truth(a, b):
    return 2 * a.astype(np.float64) + b
"""
KERNELS = {"a": "def kernel(a, b):\n    return b + 2 * a\n", "b": "def kernel(a, b):\n    return 2 * a + b\n"}
SCRIPT = """
import sys
from kpd.measure.python.host import batching, main
batching.EARLY = {early}
sys.exit(main.main(["rtol=1e-5", "atol=1e-6", "{verb}", "a.zip", "b.zip", "a", "{many}", "20000"]))
"""


@pytest.mark.parametrize("verb", ["time", "fresh"])
@pytest.mark.parametrize("early", [1 << 30, 1 << 12])
def test_results_are_right_wherever_inputs_lie(tmp_path: Path, verb: str, early: int) -> None:
    (tmp_path / "harness.py").write_text(HARNESS)
    for side, text in KERNELS.items():
        with zipfile.ZipFile(tmp_path / f"{side}.zip", "w") as archive:
            archive.writestr("kernel.py", text)
    script = SCRIPT.format(early=early, verb=verb, many={"time": 8, "fresh": 30}[verb])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{script}"]
    ended = subprocess.run(command, cwd=tmp_path, input=b"1234\n", capture_output=True, check=False)
    report = json.loads(ended.stdout)
    assert (ended.returncode, report["problem"], ended.stderr) == (0, None, b"")
    assert list(report["cases"]) == ["short", "long", "odd"]
    assert ("lay" in report["spent"]) == (early > 1 << 12)
