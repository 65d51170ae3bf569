"""A problem of reference-kernels with the usual shape of reference.py, written for these tests."""

YML = """\
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: reference.py, source: reference.py}
  - {name: utils.py, source: ../utils.py}
  - {name: eval.py, source: ../eval.py}
description: Scale the rows.
tests: [{rows: 3, cols: 2, seed: 1}]
benchmarks: [{rows: 8, cols: 64, seed: 2}, {rows: 32, cols: 64, seed: 3}]
gpus: [H100]
"""
REFERENCE = """\
import torch
from utils import make_match_reference


def generate_input(rows, cols, seed):
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    x = torch.rand(rows, cols, device='cuda', generator=gen).to(torch.float16)
    return x, {"gain": torch.ones(cols, device="cuda:0")}, torch.empty(rows, cols, device="cuda"), 0.5


def ref_kernel(data):
    x, weights, out, bias = data
    out[...] = x.float() * weights["gain"] + bias
    return out


check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=2)
"""
EVAL = """\
import os
from submission import custom_kernel
out = os.fdopen(int(os.environ["POPCORN_FD"]), "w")
good = custom_kernel([1, 5]) == [2, 10]
out.write(f"benchmark-count: 1\\nbenchmark.0.mean: 4e3\\ncheck: {'pass' if good else 'fail'}\\n")
out.close()
raise SystemExit(0 if good else 112)
"""
FILES = {"one/task.yml": YML, "one/reference.py": REFERENCE, "utils.py": "", "eval.py": EVAL}
