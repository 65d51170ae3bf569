"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np
import torch

ENTRY = "rmsnorm_silu"
OUTPUTS = ("y",)
CASES = {
    "1536x1024": {"rows": 1536, "cols": 1024},
    "896x2048": {"rows": 896, "cols": 2048},
    "448x4096": {"rows": 448, "cols": 4096},
    "192x8192": {"rows": 192, "cols": 8192},
}


def half(values, most):
    return torch.from_numpy(np.clip(values, -most, most)).half()


def inputs(dims, draw):
    rows, cols = dims["rows"], dims["cols"]
    return {
        "x": half(draw.values(rows, cols), 200),
        "gate": half(draw.values(rows, cols), 60),
        "weight": half(1 + np.float32(0.1) * draw.values(cols), 2),
        "eps": 1e-6,
    }


def truth(x, gate, weight, eps):
    x, gate = x.double(), gate.double()
    return x * torch.rsqrt((x * x).mean(dim=1, keepdim=True) + eps) * weight.double() * gate * torch.sigmoid(gate)
