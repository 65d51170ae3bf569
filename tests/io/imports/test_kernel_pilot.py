"""The ledgers that benchmarks of kernel-pilot append to differ in their columns, and some have no header."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kpd.imports.bringing import bring
from kpd.imports.draft import Answers
from tests.support.imports import pilot
from tests.support.imports.folders import written

HEADER = ["ts", "case_name", "metric", "candidate_us", "notes"]
ROWS = [
    ["1", "s128", "median_us", "4.0", "metric_kind=wall_clock"],
    ["2", "s128", "median_us", "1.0", "metric_kind=kernel_event"],
    ["3", "s512", "median_us", "9.0", "metric_kind=wall_clock"],
    ["4", "production_geomean", "geomean_speedup_x", "", "n_shapes=2"],
]


def program(rows: list[list[str]]) -> str:
    return f'import csv\nwith open("benchmark.csv", "a") as ledger:\n    csv.writer(ledger).writerows({rows!r})\n'


def result(tmp_path: Path, files: dict[str, str]) -> dict[str, Any]:
    """Import a folder, and run what kpd wrote for it twice: the second run's result is its own, too."""
    made = bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers(device="cpu")).folder
    assert not (made / "benchmark.csv").exists()
    for _ in range(2):
        done = subprocess.run([sys.executable, "kpd_bench.py"], cwd=made, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
    return found


def prompted(rows: list[list[str]], kept: str) -> dict[str, str]:
    return pilot.PROMPT | {"benchmark.py": program(rows), "benchmark.csv": kept}


@pytest.mark.parametrize(
    ("rows", "kept"), [(ROWS, f"{','.join(HEADER)}\n0,old,median_us,7.0,\n"), ([HEADER, *ROWS], "")]
)
def test_the_first_row_of_a_shape_is_its_time(tmp_path: Path, rows: list[list[str]], kept: str) -> None:
    found = result(tmp_path, prompted(rows, kept))
    assert found == {"best_us": pytest.approx(6.0), "cases": [{"name": "s128", "us": 4.0}, {"name": "s512", "us": 9.0}]}


def test_what_a_later_row_says_against_a_shape_counts(tmp_path: Path) -> None:
    rows = [["name", "us", "passed"], ["a", "2.0", "True"], ["a", "1.0", "False"]]
    assert result(tmp_path, prompted(rows, ""))["cases"] == [{"name": "a", "us": 2.0, "passed": "True, False"}]


def test_a_benchmark_below_bench_may_have_such_a_ledger(tmp_path: Path) -> None:
    rows = [["shape_id", "metric", "base_median_us", "cand_median_us"], ["a", "sync_wall", "1.0", "5.0"]]
    files = pilot.STANDALONE | {"bench/benchmark.py": program(rows)}
    assert result(tmp_path, files) == {"best_us": pytest.approx(5.0), "cases": [{"name": "a", "us": 5.0}]}
