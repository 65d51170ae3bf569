"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np
import torch

ENTRY = "silu_mul"
OUTPUTS = ("out",)
CASES = {
    "4096x4096": {"rows": 4096, "cols": 4096},
    "512x11008": {"rows": 512, "cols": 11008},
    "33x1001": {"rows": 33, "cols": 1001},
}


def half(values, most):
    return torch.from_numpy(np.clip(values, -most, most)).half()


def inputs(dims, draw):
    shape = dims["rows"], dims["cols"]
    return {"gate": half(draw.values(*shape), 200), "value": half(draw.values(*shape), 200)}


def truth(gate, value):
    gate = gate.double()
    return gate * torch.sigmoid(gate) * value.double()
