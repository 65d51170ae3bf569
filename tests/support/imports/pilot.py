"""Small folders of kernel-pilot by both contracts, written for these tests."""

import json

KERNEL = "def scale(values):\n    return [2 * value for value in values]\n"
PROMPT = {
    "prompt.md": "# Scale a vector\n\nWrite the fastest `scale` in `src/scale.py`.\n",
    "interface.md": "`scale(values)` returns each value times two.\n",
    "src/scale.py": KERNEL,
    "benchmark.csv": "shape,mode,candidate_us\nn9,old,1.5\n",
    "benchmark.py": """\
import csv, os, sys, time
sys.path.insert(0, "src")
from scale import scale
new = not os.path.exists("benchmark.csv")
with open("benchmark.csv", "a", newline="") as file:
    rows = csv.writer(file)
    if new:
        rows.writerow(["shape", "mode", "candidate_us"])
    for size in (2000, 4000):
        values = list(range(size))
        begun = time.perf_counter()
        for _ in range(5):
            scale(values)
        rows.writerow([f"n{size}", "candidate", (time.perf_counter() - begun) * 2e5])
    rows.writerow(["all", "geomean", "1.0"])
""",
    "tests/test_correctness.py": """\
import sys
sys.path.insert(0, "src")
from scale import scale
def test_scale():
    assert scale([1, 5]) == [2, 10]
""",
}
BENCH = """\
import json, sys, time
sys.path.insert(0, "solution")
from kernel import scale
with open("bench/results.jsonl", "a") as file:
    for work in json.load(open("bench/workloads.json")):
        values = list(range(work["n"]))
        begun = time.perf_counter()
        got = scale(values)
        us = (time.perf_counter() - begun) * 1e6
        good = got == [2 * value for value in values]
        row = {"id": work["id"], "status": "PASSED" if good else "INCORRECT", "production": work["production"],
               "candidate": {"median_us": us}, "baseline": {"median_us": us}, "speedup": 1.0}
        file.write(json.dumps(row) + "\\n")
"""
STANDALONE = {
    "config.toml": """\
[task]
slug = "h200_scale"
target_gpu = "NVIDIA H200"
family = "scale"
[build]
candidate_entry_points = ["solution/kernel.py::scale"]
[benchmark]
timeout_seconds = 30
""",
    "bench/benchmark.py": BENCH,
    "bench/workloads.json": json.dumps([
        {"id": "a", "n": 3000, "production": True}, {"id": "odd", "n": 7, "production": False},
    ]),
    "bench/correctness.py": """\
import sys
sys.path.insert(0, "solution")
from kernel import scale
assert scale([3]) == [6]
""",
    "baseline/kernel.py": KERNEL,
    "solution/kernel.py": KERNEL,
    "prompt.md": "# Scale\n",
}  # fmt: skip
