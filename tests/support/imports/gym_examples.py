"""Nine small workspaces in the shapes of HarnessGym's examples for a CPU: the names of files and keys are theirs alone.

Each has options for `kpd task import`, and a change that makes its kernel faster or right, and one that makes it wrong.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

Change = tuple[str, str, str]
"""A file, what is replaced in it, and by what."""


@dataclass(frozen=True, slots=True)
class Example:
    """A workspace. `score` is what kpd has to read as its score, `editable` what may change."""

    files: Mapping[str, str]
    editable: tuple[str, ...]
    score: str
    right: Change
    wrong: Change
    options: tuple[str, ...] = ()
    language: str = "command"
    tuned: tuple[str, ...] = ()


_HEAD = """\
import argparse, json, subprocess, time
parser = argparse.ArgumentParser()
parser.add_argument("--json", action="store_true")
"""
_MODE = 'parser.add_argument("--mode", choices=("dev", "final"), default="dev")\n'
_TELL = """\
rows = [run(name, size) for name, size in SIZES[mode]]
errors = [f"{row['name']}: accuracy mismatch" for row in rows if row["status"] != "passed"]
best = max(row["KEY"] for row in rows)
result = {"status": "failed" if errors else "passed", "mode": mode, "cases": rows, "errors": errors, "KEY": best,
          "score": best, "metrics": {"KEY": best}, "TARGET": 1.0}
print(json.dumps(result, indent=2, sort_keys=True) if args.json else f"verifier passed; KEY={best}")
"""


def _bench(run: str, sizes: str, key: str, modes: bool = True) -> str:
    mode = "args = parser.parse_args()\nmode = " + ("args.mode\n" if modes else '"dev"\n')
    tell = _TELL.replace("KEY", key).replace("TARGET", "target_" + key.partition("_")[2])
    return f"{_HEAD}{_MODE if modes else ''}{mode}SIZES = {sizes}\n{run}{tell}"


_COMPILED = """\
built = subprocess.run([COMPILER, "-O1", "-o", "bench", *SOURCES, "-lm"], capture_output=True, text=True)
if built.returncode:
    raise RuntimeError(built.stderr)
def run(name, size):
    ended = subprocess.run(["./bench", str(size)], capture_output=True, text=True, check=True)
    return {"name": name, **json.loads(ended.stdout)}
"""


_MAIN = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "HEADER"
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), good = 1;
  float *x = (float *)malloc(4 * n * n), *y = (float *)malloc(4 * n * n), *z = (float *)malloc(4 * n * n);
  double best = 1e30;
  for (int run = 0; run < 9; run++) {
    for (int i = 0; i < n * n; i++) x[i] = (float)((i * 37 + run * 11) % 101) / 101.0f;
    double begun = now();
    KERNEL(x, y, n);
    double taken = now() - begun;
    best = taken < best ? taken : best;
    REFERENCE
    for (int i = 0; i < n * n; i++) good &= fabsf(y[i] - z[i]) <= 2.5e-4f;
  }
  printf("{\"status\": \"%s\", \"best_cycles\": %.0f}\n", good ? "passed" : "failed", best);
  return 0;
}
"""


def _main(header: str, kernel: str, reference: str) -> str:
    return _MAIN.replace("HEADER", header).replace("KERNEL", kernel).replace("REFERENCE", reference)


_SOFTMAX = """
    for (int r = 0; r < n; r++) {
      double sum = 0;
      for (int i = 0; i < n; i++) sum += exp((double)x[r * n + i]);
      for (int i = 0; i < n; i++) z[r * n + i] = (float)(exp((double)x[r * n + i]) / sum);
    }
"""
_ROWS = "for (int i = 0; i < n * n; i++) z[i] = x[i] * 2.0f + 1.0f;"
_SLOW = "  for (int j = 0; j < n; j++)\n    for (int i = 0; i < n; i++) y[i * n + j] = x[i * n + j] * 2.0f + 1.0f;\n"
_FAST = "  for (int i = 0; i < n * n; i++) y[i] = x[i] * 2.0f + 1.0f;\n"
C_SIZES = '{"dev": [("dev_512", 512)], "final": [("final_400", 400), ("final_640", 640)]}'
_RUN_VERIFIER = """\
import json, subprocess
told = json.loads(subprocess.run(["python3", "benchmark.py", "--json"], capture_output=True, text=True).stdout)
assert told["status"] == "passed", told["errors"]
print("verifier passed")
"""
_PY_SIZES = '{"dev": [("dev_300", 300)], "final": [("final_200", 200)]}'
_PY_RUN = """\
import random
from kernel import paged_attention_kernel
def run(name, size):
    table = [random.randrange(size) for _ in range(size)]
    pages = [[random.random() for _ in range(16)] for _ in range(size)]
    taken = []
    for _ in range(7):
        begun = time.perf_counter()
        got = paged_attention_kernel(pages, table)
        taken.append((time.perf_counter() - begun) * 1e3)
    want = [sum(pages[page]) for page in table]
    good = len(got) == len(want) and all(abs(a - b) < 1e-9 for a, b in zip(got, want))
    return {"name": name, "status": "passed" if good else "failed", "best_ms": min(taken)}
"""
_PAGED = """\
def paged_attention_kernel(pages, table):
    out = []
    for page in table:
        total = 0.0
        for value in pages[page]:
            total += value
        out.append(total)
    return out
"""
_PAGED_FAST = "def paged_attention_kernel(pages, table):\n    return [sum(pages[page]) for page in table]\n"
_PLAN_RUN = """\
VALID = {"tile": [8, 16, 32], "layout": ["row", "column"], "pack": [False, True]}
plan = json.load(open("PLAN"))
wrong = [f"{key} is {plan.get(key)!r}" for key, values in VALID.items() if plan.get(key) not in values]
def run(name, size):
    cycles = size * 64 // (plan["tile"] or 1) + (300 if plan["layout"] == "column" else 0) - 50 * plan["pack"]
    return {"name": name, "status": "failed" if wrong else "passed", "best_cycles": cycles, "median_cycles": cycles + 1}
"""
_PLAN = json.dumps({"tile": 8, "layout": "column", "pack": False}, indent=2)
_VERIFY = "import random, time\nfrom MODULE import NAME\n"


def _plan(name: str) -> Example:
    bench = _bench(_PLAN_RUN.replace("PLAN", name), '{"dev": [("dev_64", 64)], "final": [("f", 96)]}', "best_cycles")
    words = f"# A plan\n\nOptimize `{name}` for the lowest `best_cycles` from:\n\n- Edit `{name}` only.\n"
    files = {"task.md": f"{words}- Do not change `benchmark.py` or `verifier.py`.\n", name: _PLAN,
             "benchmark.py": bench, "verifier.py": _RUN_VERIFIER}  # fmt: skip
    right, wrong = (name, '"tile": 8', '"tile": 32'), (name, '"tile": 8', '"tile": 9')
    return Example(files, (name,), "best_cycles", right, wrong, tuned=("layout", "pack", "tile"))


def _c(words: str, kernel: str, compiler: str, files: Mapping[str, str], editable: tuple[str, ...],
       right: Change, wrong: Change, verifier: bool = True) -> Example:  # fmt: skip
    suffix = kernel.rpartition(".")[2]
    constants = f'COMPILER, SOURCES = "{compiler}", ("benchmark.{suffix}", "{kernel}")\n'
    bench = _bench(constants + _COMPILED, C_SIZES, "best_cycles")
    made = {"task.md": words, "benchmark.py": bench, **files}
    if verifier:
        made["verifier.py"] = _RUN_VERIFIER
    return Example(made, editable, "best_cycles", right, wrong)


_C_HEADER = "void scale(const float *x, float *y, int n);\n"
_CPP = f'#include "kernel.h"\nextern "C" void scale(const float *x, float *y, int n) {{\n{_SLOW}}}\n'
_C = f'#include "moe_kernel.h"\nvoid scale(const float *x, float *y, int n) {{\n{_SLOW}}}\n'
_FLASH = """\
#include <math.h>
#include "kernel.h"
void flash_attention_forward(const float *x, float *y, int n) {
  for (int r = 0; r < n; r++) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += exp(x[r * n + i]);
    for (int i = 0; i < n; i++) y[r * n + i] = exp(x[r * n + i]) / sum;
  }
}
"""
_SCAN_VERIFIER = (
    _VERIFY.replace("MODULE", "kernel").replace("NAME", "selective_scan")
    + """\
values = [random.random() for _ in range(20000)]
total, want = 0.0, []
for value in values:
    total = 0.5 * total + value
    want.append(total)
best = 9.0
for _ in range(5):
    begun = time.perf_counter()
    got = selective_scan(values)
    best = min(best, time.perf_counter() - begun)
assert len(got) == len(want) and all(abs(a - b) < 1e-9 for a, b in zip(got, want)), "accuracy mismatch"
print(f"performance best={best:.6f}s threshold=2.0s")
print("verifier passed")
"""
)
_SCAN = """\
def selective_scan(values):
    out = []
    for value in values:
        before = out[-1] if len(out) else 0.0
        out = out + [0.5 * before + value] if len(out) < 400 else (out.append(0.5 * before + value) or out)
    return out
"""
_DOT_VERIFIER = (
    _VERIFY.replace("MODULE", "kernel_ops").replace("NAME", "normalized_dot")
    + """\
import math
for _ in range(50):
    a, b = ([random.uniform(-1, 1) for _ in range(500)] for _ in range(2))
    want = sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    assert abs(normalized_dot(a, b) - want) < 1e-12, "accuracy mismatch"
print("verifier passed")
"""
)
_PAGED_VERIFIER = (
    _VERIFY.replace("MODULE", "kernel").replace("NAME", "paged_attention_kernel")
    + """\
pages = [[random.random() for _ in range(16)] for _ in range(3000)]
table = [random.randrange(3000) for _ in range(20000)]
begun = time.perf_counter()
got = paged_attention_kernel(pages, table)
taken = time.perf_counter() - begun
assert all(abs(a - sum(pages[page])) < 1e-9 for a, page in zip(got, table)) and len(got) == len(table), "mismatch"
print(f"performance best={taken:.6f}s threshold=5.0s")
assert taken < 5.0
"""
)
_DOT = "def normalized_dot(a, b):\n    return sum(x * y for x, y in zip(a, b))\n"
_DOT_RIGHT = (
    "import math\ndef normalized_dot(a, b):\n    size = sum(x * x for x in a) * sum(y * y for y in b)\n"
    "    return sum(x * y for x, y in zip(a, b)) / math.sqrt(size)\n"
)
_ONLY = "- Do not change `benchmark.py`, `verifier.py`, or the correctness tolerances.\n"

EXAMPLES: dict[str, Example] = {
    "c_flash_attention_optimization_task": _c(
        "# Rows\n\nOptimize `flash_attention_forward` in `kernel.c` for the lowest reported CPU cycle count: reduce "
        "`best_cycles`.\n- Edit `kernel.c` only.\n- Do not change `benchmark.c`, `benchmark.py` or `kernel.h`.\n",
        "kernel.c", "cc",
        {"kernel.c": _FLASH, "kernel.h": "void flash_attention_forward(const float *x, float *y, int n);\n",
         "benchmark.c": _main("kernel.h", "flash_attention_forward", _SOFTMAX)},
        ("kernel.c",),
        ("kernel.c", "y[r * n + i] = exp(x[r * n + i]) / sum", "y[r * n + i] = expf(x[r * n + i]) / (float)sum"),
        ("kernel.c", "/ sum", "/ (sum * 2)"), verifier=False,
    ),
    "cpp_stencil_kernel_task": _c(
        "# Grid\n\nOptimize `kernel.cpp` for the lowest `best_cycles` reported by:\n\n- Edit `kernel.cpp` and "
        "`kernel.h` only when changing the kernel.\n- Do not change `benchmark.py` or `verifier.py`.\n",
        "kernel.cpp", "g++",
        {"kernel.cpp": _CPP, "kernel.h": f'extern "C" {_C_HEADER}', "benchmark.cpp": _main("kernel.h", "scale", _ROWS)},
        ("kernel.cpp", "kernel.h"), ("kernel.cpp", _SLOW, _FAST), ("kernel.cpp", "+ 1.0f", "+ 1.1f"),
    ),
    "cpu_attention_autotune_task": _plan("kernel_config.json"),
    "cpu_moe_kernel_task": _c(
        "# Experts\n\nOptimize the kernel for the lowest `best_cycles`.\n\nYou may edit:\n\n- `moe_kernel.c`\n"
        "- `moe_kernel.h`\n\nDo not edit:\n\n- `benchmark.py`\n- `verifier.py`\n",
        "moe_kernel.c", "cc",
        {"moe_kernel.c": _C, "moe_kernel.h": _C_HEADER, "benchmark.c": _main("moe_kernel.h", "scale", _ROWS)},
        ("moe_kernel.c", "moe_kernel.h"), ("moe_kernel.c", _SLOW, _FAST), ("moe_kernel.c", "+ 1.0f", "+ 1.1f"),
    ),
    "numerical_debug_task": Example(
        {"task.md": "# Debug\n\nFix `kernel_ops.py` so `normalized_dot(a, b)` is right.\n", "kernel_ops.py": _DOT,
         "verifier.py": _DOT_VERIFIER},
        ("kernel_ops.py",), "best_us", ("kernel_ops.py", _DOT, _DOT_RIGHT), ("kernel_ops.py", "x * y", "x + y"),
        ("--baseline", "wrong"), "python",
    ),
    "paged_attention_kernel_task": Example(
        {"task.md": "# Hard\n\nImplement `paged_attention_kernel` in `kernel.py`.\n- Run `python3 verifier.py`.\n",
         "kernel.py": "def paged_attention_kernel(pages, table):\n    raise NotImplementedError\n",
         "verifier.py": _PAGED_VERIFIER},
        ("kernel.py",), "best_us",
        ("kernel.py", "    raise NotImplementedError", "    return [sum(pages[page]) for page in table]"),
        ("kernel.py", "    raise NotImplementedError", "    return [sum(page) for page in pages]"),
        ("--baseline", "wrong"), "python",
    ),
    "paged_attention_optimization_task": Example(
        {"task.md": "# Pages\n\nOptimize `paged_attention_kernel` in `kernel.py`.\n\nRecord `best_ms`.\n" + _ONLY,
         "kernel.py": _PAGED, "benchmark.py": _bench(_PY_RUN, _PY_SIZES, "best_ms", modes=False),
         "verifier.py": _RUN_VERIFIER},
        ("kernel.py",), "best_ms", ("kernel.py", _PAGED, _PAGED_FAST), ("kernel.py", "total += value", "total = value"),
        language="python",
    ),
    "selective_scan_kernel_task": Example(
        {"task.md": "# Scan\n\nImplement `selective_scan` in `kernel.py`.\n", "kernel.py": _SCAN,
         "verifier.py": _SCAN_VERIFIER},
        ("kernel.py",), "best_us",
        ("kernel.py", _SCAN, "def selective_scan(values):\n    out, last = [], 0.0\n    for value in values:\n"
                             "        last = 0.5 * last + value\n        out.append(last)\n    return out\n"),
        ("kernel.py", "0.5 * before", "0.4 * before"), language="python",
    ),
    "tensor_layout_pipeline_task": _plan("kernel_plan.json"),
}  # fmt: skip
"""By the names of HarnessGym's."""
