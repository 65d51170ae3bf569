"""The judge of this task, protected: its cases, inputs and truth. docs/python-kernels.md explains every part."""

import numpy as np
import torch

ENTRY = "matmul"
OUTPUTS = ("c",)
CASES = {
    "square_2048": {"m": 2048, "n": 2048, "k": 2048},
    "deep": {"m": 512, "n": 512, "k": 8192},
    "flat": {"m": 16, "n": 4096, "k": 4096},
    "odd": {"m": 1000, "n": 777, "k": 1111},
}


def inputs(dims, draw):
    m, n, k = dims["m"], dims["n"], dims["k"]
    scale = np.float32(k**-0.5)  # so that the results are about 1, whatever k is
    return {
        "a": torch.from_numpy(np.clip(draw.values(m, k), -60, 60)).half(),
        "b": torch.from_numpy(scale * np.clip(draw.values(k, n), -60, 60)).half(),
    }


def truth(a, b):
    return a.double() @ b.double()
