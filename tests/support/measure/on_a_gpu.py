"""A harness, a kernel and an environment for the runner on a GPU, with libraries that pass for torch and CUDA."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import psutil

from tests.places import ROOT
from tests.support.measure import libcuda_standin

HARNESS = """
import numpy as np
import torch
OUTPUTS = ("out",)
CASES = {"small": {"n": 4099}}
def inputs(dims, draw):
    return {name: torch.from_numpy(draw.values(dims["n"])) for name in "ab"}
def truth(a, b):
    return 2.0 * a.array.astype("float64") + b.array
"""
HEAD = "import ctypes, numpy as np, torch\n"
OUT = "    out = torch.empty(a.shape, dtype=a.dtype, device='cuda')\n"
RIGHT = f"def kernel(a, b):\n{OUT}    out.array[...] = 2 * a.array + b.array\n    return out\n"
TWO_CASES = HARNESS.replace('{"small": {"n": 4099}}', '{"small": {"n": 4099}, "large": {"n": 40_000}}')
LONG_NS = 50_000_000
"""Beside other work a call of these kernels, which the CPU computes, takes milliseconds."""
JOB = f"""
import sys
sys.path.insert(0, {{folder!r}})
from kpd.measure.python.host import confined, main, quick
confined.confine = lambda sandbox: None  # memory of the device is files here, which no worker may write
quick.LONG_NS = {LONG_NS}
sys.exit(main.main(["rtol=1e-5", "atol=1e-6", "limit_s=60", "first_ms=20000", *{{commands!r}}]))
"""


def environment(folder: Path) -> dict[str, str]:
    """Build the driver in a folder, and return the environment of a process that finds both libraries."""
    path = os.pathsep.join((str(ROOT / "tests/support/cuda_torch"), str(ROOT)))
    return {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "0", **libcuda_standin.built(folder)}


def job(
    folder: Path,
    environment: dict[str, str],
    candidate: str,
    commands: tuple[str, ...],
    lines: str,
    incumbent: str = RIGHT,
) -> subprocess.CompletedProcess[str]:
    """Run the job, for the candidate and the incumbent; nothing of it is left."""
    (folder / "harness.py").write_text(TWO_CASES)
    for side, kernel in {"a": incumbent, "b": candidate}.items():
        with zipfile.ZipFile(folder / f"{side}.zip", "w") as archive:
            archive.writestr("kernel.py", HEAD + kernel)
    words = [str(folder / word) if word.endswith(".zip") and "=" not in word else word for word in commands]
    command = [sys.executable, "-c", JOB.format(folder=str(folder), commands=words)]
    ended = subprocess.run(
        command, cwd=folder, env=environment, input=lines, capture_output=True, text=True, check=False, timeout=120
    )
    running = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert not any(str(folder) in words for words in running)
    return ended
