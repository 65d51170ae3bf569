"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np

ENTRY = "rmsnorm_silu"
OUTPUTS = ("out",)
CASES = {
    "wide": {"rows": 16, "cols": 2048},
    "square": {"rows": 128, "cols": 256},
    "tall": {"rows": 256, "cols": 64},
}

LIMITS = {"cols": {"most": 8195}}  # a longer sum of equal squares in one float can be off by more than rtol


def inputs(dims, draw):
    x = draw.values(dims["rows"], dims["cols"])
    weight = 1 + np.float32(0.1) * draw.values(dims["cols"])
    return {
        "x": np.clip(x, -1e15, 1e15),
        "weight": np.clip(weight, -1e3, 1e3),
        "eps": 10.0 ** -draw.random.uniform(1, 12),  # it is an argument: another one for each inputs
    }


def truth(x, weight, eps):
    x = x.astype(np.float64)
    y = x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + eps) * weight
    with np.errstate(over="ignore"):
        return y / (1 + np.exp(-y))
