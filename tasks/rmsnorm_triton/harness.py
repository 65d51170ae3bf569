"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np
import torch

ENTRY = "rmsnorm"
OUTPUTS = ("y",)
CASES = {
    "1536x1024": {"rows": 1536, "cols": 1024},
    "896x2048": {"rows": 896, "cols": 2048},
    "448x4096": {"rows": 448, "cols": 4096},
    "192x8192": {"rows": 192, "cols": 8192},
}


def inputs(dims, draw):
    x = np.clip(draw.values(dims["rows"], dims["cols"]), -200, 200)
    weight = 1 + np.float32(0.1) * np.clip(draw.values(dims["cols"]), -10, 10)
    return {"x": torch.from_numpy(x).half(), "weight": torch.from_numpy(weight).half(), "eps": 1e-6}


def truth(x, weight, eps):
    x = x.double()
    return x / torch.sqrt((x * x).mean(dim=1, keepdim=True) + eps) * weight.double()
