"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np
import torch

ENTRY = "softmax"
OUTPUTS = ("y",)
CASES = {
    "4096x1024": {"rows": 4096, "cols": 1024},
    "1024x8192": {"rows": 1024, "cols": 8192},
    "64x65536": {"rows": 64, "cols": 65536},
    "2000x3001": {"rows": 2000, "cols": 3001},
}


def inputs(dims, draw):
    return {"x": torch.from_numpy(np.clip(draw.values(dims["rows"], dims["cols"]), -1e4, 1e4))}


def truth(x):
    return torch.softmax(x.double(), dim=1)
