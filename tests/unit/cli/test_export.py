"""What `kpd export` writes: rows with units and intervals, and the shapes of HarnessGym, from measurements alone."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.cli.export import _print_table
from kpd.cli.main import main
from kpd.model import events as e
from kpd.model.status import Ended
from kpd.model.toolbox import ToolCheck, ToolVersion
from kpd.model.trials import LISTING
from kpd.text.exports import COLUMNS, candidates, compare_report, harnessgym
from tests.support.e2e.desk_place import Place
from tests.support.model.compared import run
from tests.support.model.samples import NO_CAUSE

TOOL = ToolVersion("lint", "a" * 64, "task", 3.0, summary="finds loops", server=True, skill=True, run="r1", iteration=2,
                   checks=(ToolCheck("sample", False, of="count"),))  # fmt: skip
AT = ("r1", 1)
FACTS = (
    e.ToolsGiven(*AT, "r1.1", (TOOL.ref,)), e.ToolCalled(*AT, "lint", LISTING, True, 1.0),
    e.ToolCalled(*AT, "lint", "count", True, 1.0), e.ToolCalled(*AT, "lint", "count", False, 1.0),
    e.ToolCalled(*AT, "kpd", "try", True, 1.0), e.SkillsRead(*AT, "r1.1", (TOOL.ref,)),
    e.SmithTurned(*AT, "r1.1", "reflect", "done", 1.0, "a lint"), e.SmithEnded(*AT, "r1.1", "qualified", TOOL.ref),
)  # fmt: skip


def test_candidates_have_their_gain_with_its_interval_and_the_unit_of_their_score() -> None:
    found = run(1.5)
    rows = candidates(found, "µs")
    assert [tuple(row) for row in rows] == [COLUMNS] * 3
    won = rows[1]
    assert (won["iteration"], won["outcome"], won["score_unit"], won["interval_pct"]) == (1, "accepted", "µs", 99)
    assert round(won["gain_pct"], 1) == 33.3 and round(won["speedup_over_baseline"], 6) == 1.5
    assert candidates(run(None), "µs")[1]["gain_pct"] is None


def test_text_of_others_is_no_formula_in_a_table() -> None:
    found = run(1.5)
    its = [replace(it, memo="=cmd|' /C calc'!A0\x1b[2J") for it in found.iterations]
    table = io.StringIO()
    _print_table(candidates(replace(found, iterations=tuple(its)), "µs"), "csv", table)
    memo = list(csv.DictReader(io.StringIO(table.getvalue())))[1]["memo"]
    assert memo.startswith("'=cmd") and "\x1b" not in memo
    text = io.StringIO()
    _print_table(candidates(found, "µs"), "json", text)
    assert json.loads(text.getvalue())[1]["iteration"] == 1


def test_the_shapes_of_harnessgym_hold_measurements_and_no_claims() -> None:
    found = replace(run(1.5), files={"kernel.c": "12"}, status=Ended("improved", NO_CAUSE, 9.0))
    files = harnessgym(found, FACTS, [TOOL], "µs", "lower")
    assert set(files) == {
        "summary.json", "registry.json", "checkpoints/best_manifest.json",
        *(f"iterations/{number}/result.json" for number in range(3)),
    }  # fmt: skip
    won, failed = (
        files["iterations/1/result.json"],
        harnessgym(run(None), [], [], "µs", "lower")["iterations/1/result.json"],
    )
    assert (won["status"], won["verified"], won["verification"]["status"]) == ("solved", True, "passed")
    assert (failed["status"], failed["verified"], failed["verification"]["status"]) == ("failed", False, "failed")
    assert won["reflection"]["selected_improvement"] == {
        "kind": "mcp", "name": "lint", "reason": "a lint", "target_path": f"tools/{TOOL.tool}/{TOOL.version}",
    }  # fmt: skip
    assert won["verification"]["tooling_tests"] == [{"name": "sample count", "status": "failed"}]
    used = won["harness_usage"]
    assert (used["active_artifacts"], used["skills_read"]) == ([TOOL.ref], [TOOL.ref])
    assert used["mcp_telemetry"] == {
        "count": 2, "successful_count": 1, "failed_count": 1, "status_counts": {"completed": 1, "error": 1},
        "called_tools": ["count"], "servers": ["lint"],
    }  # fmt: skip
    assert failed["harness_usage"]["mcp_telemetry"]["count"] == 0
    summary = files["summary.json"]
    assert (
        summary["mcp_telemetry"] == used["mcp_telemetry"] == summary["iterations"][1]["harness_usage"]["mcp_telemetry"]
    )
    assert (summary["status"], summary["best_iteration"], round(summary["speedup"]["ratio"], 6)) == ("solved", 1, 1.5)
    assert harnessgym(run(1.0), [], [], "µs", "lower")["summary.json"]["status"] == "incomplete"
    assert harnessgym(run(1.0), FACTS, [TOOL], "µs", "lower")["summary.json"]["status"] == "tooling_built"
    manifest = files["checkpoints/best_manifest.json"]
    assert (manifest["iteration"], manifest["files"], manifest["file_count"]) == (1, ["kernel.c"], 1)
    kinds = [(one["kind"], one["metadata"]["qualification"]["status"]) for one in files["registry.json"]["artifacts"]]
    assert kinds == [("mcp", "quarantined"), ("skill", "quarantined")]


def test_a_comparison_counts_its_invalid_trials_as_the_worst() -> None:
    one = {
        "over": True,
        "calls": 3,
        "called": ["count"],
        "used": True,
        "seconds": 60.0,
        "invalid": "",
        "reason": "",
        "run": "r1",
        "number": 1,
    }
    good = {**one, "side": "tools", "speedup": {"ratio": 1.5, "low": 1.4, "high": 1.6}}
    bad = {**one, "side": "plain", "speedup": None, "invalid": "failed", "reason": "no attempt of it was measured"}
    names = ("conclusion", "text", "times", "wins", "p", "p_valid", "least_p", "id", "task", "agent", "seed", "order")
    report = compare_report({**dict.fromkeys((*names, "tools", "budget")), "runs": [good, bad]})
    assert report["summary"]["harnessed"]["post_score"]["best"] == 1.5
    plain = report["summary"]["plain"]["post_score"]
    assert (plain["best"], plain["invalid_count"], plain["invalid_treated_as_worst"]) == (None, 1, True)
    assert report["summary"]["harnessed"]["mcp_called_tools"] == ["count"] == report["trials"][0]["mcp_called_tools"]
    told = {one["group"]: (one["post_valid"], one["post_invalid_reason"]) for one in report["trials"]}
    assert told == {"harnessed": (True, None), "plain": (False, "no attempt of it was measured")}


def test_a_run_is_exported_at_the_command_line_with_what_its_sessions_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path / "w")
    (place.workspace.root / "tasks").mkdir()
    for fact in FACTS[:4]:
        place.journal.emit(fact)
    out = tmp_path / "out"
    own = ["-w", str(place.workspace.root), "export", "r1", "--format", "harnessgym", "-o", str(out)]
    assert main(own) == 0
    told = {str(path.relative_to(out)): path for path in out.rglob("*.json")}
    assert {"summary.json", "registry.json", "checkpoints/best_manifest.json", "iterations/1/result.json"} <= set(told)
    result = json.loads(told["iterations/1/result.json"].read_text())
    assert (result["status"], result["harness_usage"]["mcp_telemetry"]["count"]) == ("solved", 2)
    assert json.loads(told["summary.json"].read_text())["mcp_telemetry"]["failed_count"] == 1
    files = json.loads(told["checkpoints/best_manifest.json"].read_text())["files"]
    assert files and all((out / "checkpoints" / "best" / path).is_file() for path in files)
    assert main(own) == 64, "nothing is overwritten"
    assert "is there already" in capsys.readouterr().err
    place.store.close()
