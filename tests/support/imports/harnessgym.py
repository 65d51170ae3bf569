"""A small HarnessGym workspace, written for these tests."""

TASK = """\
# Scale a vector

Optimize `scale` in `kernel.py` for the lowest `best_us`.

- Edit `kernel.py` only.
- Do not change `benchmark.py` or `verifier.py`.
"""
KERNEL = """\
def scale(values):
    total = []
    for value in values:
        total.append(2 * value)
    return total
"""
BENCHMARK = """\
import argparse
import json
import random
import time

from kernel import scale

SIZES = {"dev": (2000, 6000), "final": (3001, 9001)}
parser = argparse.ArgumentParser()
parser.add_argument("--json", action="store_true")
parser.add_argument("--mode", choices=("dev", "final"), default="dev")
mode = parser.parse_args().mode
cases, bad = [], []
for size in SIZES[mode]:
    values = [random.randrange(1, 1000) for _ in range(size)]
    taken = []
    for _ in range(5):
        begun = time.perf_counter()
        got = scale(values)
        taken.append((time.perf_counter() - begun) * 1e6)
    good = got == [2 * value for value in values]
    bad += [] if good else [f"{mode}_{size} is wrong"]
    cases.append({"name": f"{mode}_{size}", "status": "passed" if good else "failed", "best_us": min(taken)})
result = {"status": "failed" if bad else "passed", "errors": bad, "mode": mode, "cases": cases, "target_us": 1.0}
result["best_us"] = sum(case["best_us"] for case in cases)
print("measured", len(cases), "cases")
print(json.dumps(result, indent=2))
with open("history.csv", "a") as ledger:
    ledger.write(f"{result['best_us']}\\n")
"""
VERIFIER = """\
from kernel import scale

assert scale([1, 2, 5]) == [2, 4, 10], "accuracy mismatch"
print("verifier passed")
"""
FILES = {
    "task.md": TASK, "kernel.py": KERNEL, "benchmark.py": BENCHMARK, "verifier.py": VERIFIER,
    "history.csv": "best_us\n", "results/old.json": "{}", "kernel.so": "x", ".harnessgym/state": "x",
}  # fmt: skip
TIMED = """\
import time

from kernel import scale

assert scale([1, 2]) == [2, 4], "accuracy mismatch"
begun = time.perf_counter()
scale(list(range(20000)))
print(f"performance best={time.perf_counter() - begun:.5f}s threshold=1.0s")
print("verifier passed")
"""
PLAN = """\
import json

VALID: dict[str, list] = {"tile": [8, 16, 32], "order": ["rows", "columns"], "pack": [False, True]}
plan = json.load(open("kernel_plan.json"))
errors = [f"{key} is {plan[key]!r}" for key, values in VALID.items() if plan[key] not in values]
cycles = 64000 // plan["tile"] + (500 if plan["order"] == "rows" else 0)
row = {"name": "dev", "best_cycles": cycles, "status": "passed"}
print(json.dumps({"status": "failed" if errors else "passed", "errors": errors, "cases": [row], "score": cycles,
                  "best_cycles": cycles, "target_cycles": 1000}))  # --json
"""
