"""A curated profile beside a full one: a rule at its threshold is told from one that has another reason."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

PROGRAM = ROOT / "benchmarks" / "same_rules.py"


def compared(folder: Path, curated: dict[str, float], full: dict[str, float]) -> dict[str, Any]:
    for name, metrics in (("metrics.json", curated), ("metrics_full.json", full)):
        (folder / name).write_text(json.dumps({"metrics": metrics}))
    done = subprocess.run([sys.executable, PROGRAM, folder], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def of_cases(dram_pct: float) -> dict[str, float]:
    return {"dram_pct[a]": dram_pct, "sm_pct[a]": 30.0, "dram_pct[b]": 40.0, "sm_pct[b]": 30.0}


@pytest.mark.parametrize("turned", [False, True], ids=["fires curated", "fires in full"])
@pytest.mark.parametrize(("other", "near"), [(79.9, True), (60.0, False)], ids=["near", "far"])
def test_a_rule_that_fires_on_one_side(tmp_path: Path, other: float, near: bool, turned: bool) -> None:
    sides = (of_cases(80.1), of_cases(other))
    found = compared(tmp_path, *(reversed(sides) if turned else sides))
    assert not found["same"]
    rule = found["differ"]["severe_memory_bound"]
    assert rule["at_threshold"] is near
    said = (rule["full"], rule["curated"]) if turned else (rule["curated"], rule["full"])
    assert said == sides


def test_the_same_rules(tmp_path: Path) -> None:
    found = compared(tmp_path, of_cases(85.0), of_cases(90.0))
    assert found["same"]
    assert found["curated"] == found["full"] == ["severe_memory_bound"]
    assert found["differ"] == {}
