"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np
import torch

ENTRY = "layernorm"
OUTPUTS = ("y",)
CASES = {
    "4096x1024": {"rows": 4096, "cols": 1024},
    "2048x4096": {"rows": 2048, "cols": 4096},
    "514x3000": {"rows": 514, "cols": 3000},
}


def brain(values, most):
    return torch.from_numpy(np.clip(values, -most, most)).bfloat16()


def inputs(dims, draw):
    rows, cols = dims["rows"], dims["cols"]
    return {
        "x": brain(draw.values(rows, cols), 200),
        "residual": brain(draw.values(rows, cols), 200),
        "weight": brain(1 + np.float32(0.1) * draw.values(cols), 2),
        "bias": brain(draw.values(cols), 2),
        "eps": 1e-5,
    }


def truth(x, residual, weight, bias, eps):
    total = x.double() + residual.double()
    normal = torch.nn.functional.layer_norm(total, total.shape[1:], eps=eps)
    return normal * weight.double() + bias.double()
