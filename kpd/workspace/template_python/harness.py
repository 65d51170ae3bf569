"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np

ENTRY = "kernel"
OUTPUTS = ("out",)
CASES = {
    "small": {"n": 4099},
    "large": {"n": 1 << 18},
}


def inputs(dims, draw):
    return {"a": draw.values(dims["n"]), "b": draw.values(dims["n"])}


def truth(a, b):
    return 2 * a.astype(np.float64) + b.astype(np.float64)
