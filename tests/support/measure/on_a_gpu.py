"""A harness, a kernel and an environment for the runner on a GPU, with libraries that pass for torch and CUDA."""

import os
from pathlib import Path

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


def environment(folder: Path) -> dict[str, str]:
    """Build the driver in a folder, and return the environment of a process that finds both libraries."""
    path = os.pathsep.join((str(ROOT / "tests/support/cuda_torch"), str(ROOT)))
    return {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "0", **libcuda_standin.built(folder)}
