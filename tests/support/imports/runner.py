"""Folders whose kernels kpd's own runner measures, in formats of others: their names and numbers alone are theirs."""

import json
from typing import Any

REFERENCE = (
    "import torch\n\n\ndef run(x, weight, eps):\n    return (x.to(torch.float32) * weight.float() + eps).half()\n"
)
DEFINITION: dict[str, Any] = {
    "name": "scaled_d64", "op_type": "scale", "description": "Scales each row",
    "axes": {"rows": {"type": "var"}, "d": {"type": "const", "value": 64}},
    "inputs": {
        "x": {"shape": ["rows", "d"], "dtype": "float16"}, "weight": {"shape": ["d"], "dtype": "bfloat16"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "d"], "dtype": "float16"}},
    "reference": REFERENCE,
}  # fmt: skip


def workload(rows: Any = 8, eps: Any = 1e-6, kind: str = "random", **more: Any) -> dict[str, Any]:
    inputs = {"x": {"type": kind}, "weight": {"type": "random"}, "eps": {"type": "scalar", "value": eps}}
    return {"definition": "scaled_d64", "workload": {"uuid": "a", "axes": {"rows": rows}, "inputs": inputs}, **more}


def lines(*workloads: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in workloads)


FLASHINFER = {"definition.json": json.dumps(DEFINITION), "workloads.jsonl": lines(workload(), workload(512))}

PUZZLE = """\
import jaxtyping
import torch
import triton
import triton.language as tl
from jaxtyping import Float32
from torch import Tensor

from display import test

SHIFT = 10.0


def shifted(x):
    return x + SHIFT


def add_spec(x: Float32[Tensor, "200"]) -> Float32[Tensor, "200"]:
    return shifted(x)


@triton.jit
def add_kernel(x_ptr, z_ptr, N0, B0: tl.constexpr):
    # Finish me!
    return


def outer_spec(x: Float32[Tensor, "32"], y: Float32[Tensor, "16"]) -> Float32[Tensor, "16 32"]:
    return x[None, :] * y[:, None]


@triton.jit
def outer_kernel(x_ptr, y_ptr, z_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    i = tl.program_id(0) * B0 + tl.arange(0, B0)  # columns
    j = tl.program_id(1) * B1 + tl.arange(0, B1)
    z = tl.load(x_ptr + i)[None, :] * tl.load(y_ptr + j)[:, None]
    tl.store(z_ptr + j[:, None] * N0 + i[None, :], z, mask=(j[:, None] < N1) & (i[None, :] < N0))


test(add_kernel, add_spec, nelem={"N0": 200})
if __name__ == "__main__":
    test(2, outer_kernel, outer_spec, nelem={"N0": 32, "N1": 16}, B={"B0": 8})
"""
