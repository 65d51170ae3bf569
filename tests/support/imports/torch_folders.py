"""Folders of KernelBench and flashinfer-bench, whose kernels need torch: RMS norms of rows of 4096 elements."""

import json

from tests.support.imports.gym_examples import Example

KERNELBENCH = """\
import torch


class Model(torch.nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.randn(features))

    def forward(self, x):
        rms = torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + self.eps)
        return torch.nn.functional.silu(x / rms * self.weight)


def get_inputs():
    return [torch.randn(@ROWS@, 4096)]


def get_init_inputs():
    return [4096]
"""
DEFINITION = {
    "name": "scaled_d4096", "description": "RMS norm of rows",
    "axes": {"rows": {"type": "var"}, "d": {"type": "const", "value": 4096}},
    "inputs": {"x": {"shape": ["rows", "d"], "dtype": "bfloat16"}, "weight": {"shape": ["d"], "dtype": "bfloat16"}},
    "outputs": {"y": {"shape": ["rows", "d"], "dtype": "bfloat16"}},
    "reference": (
        "import torch\n\n\ndef run(x, weight):\n    x = x.to(torch.float32)\n"
        "    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)\n"
        "    return (y * weight.to(torch.float32)).to(torch.bfloat16)\n"
    ),
}  # fmt: skip
RANDOM = {name: {"type": "random"} for name in ("x", "weight")}


def folders(rows: int) -> dict[str, dict[str, str]]:
    """Return the files of each folder: one case of so many rows, and five of which that is the largest."""
    sizes = [max(1, rows >> shift) for shift in (0, 1, 3, 7, 11)]
    workloads = [{"axes": {"rows": n}, "inputs": RANDOM} for n in sizes]
    lines = [json.dumps({"definition": "scaled_d4096", "workload": one}) for one in workloads]
    return {
        "kernelbench": {"rms_norm.py": KERNELBENCH.replace("@ROWS@", str(rows))},
        "flashinfer": {"definition.json": json.dumps(DEFINITION), "workloads.jsonl": "\n".join(lines)},
    }


_MODEL = "    pass\n"
_FUSED = """\
    def forward(self, x):
        y = torch.nn.functional.rms_norm(x, x.shape[-1:], @WEIGHT@, self.eps)
        return torch.nn.functional.silu(y, inplace=True)
"""
_CALL = """\
    found = run(*inputs)
    return tuple(found[name] for name in OUTPUTS) if isinstance(found, dict) else found
"""
_ONE_CALL = """\
    import torch

    x, weight = inputs
    return torch.nn.functional.rms_norm(x.float(), weight.shape, @WEIGHT@, 1e-6).to(x.dtype)
"""


def examples(rows: int, device: str) -> dict[str, Example]:
    """Return both as they are imported for a device; the right change takes torch's RMS norm."""

    def example(name: str, old: str, new: str, weight: str) -> Example:
        right, wrong = (("kernel.py", old, new.replace("@WEIGHT@", text)) for text in (weight, "None"))
        files, options = folders(rows)[name], ("--device", device)
        return Example(files, ("kernel.py",), "best_us", right, wrong, options, "python")

    return {
        "kernelbench": example("kernelbench", _MODEL, _FUSED, "self.weight"),
        "flashinfer": example("flashinfer", _CALL, _ONE_CALL, "weight.float()"),
    }
