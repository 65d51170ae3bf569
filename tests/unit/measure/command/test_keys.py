"""Each key by which a task says where its benchmark's result has what: from task.toml to the result."""

import json
from pathlib import Path
from typing import Any

import pytest

from kpd.measure.command.result import BadResult, Result, UnclearResult, result
from kpd.measure.command.shape import shape_of
from kpd.workspace.task import TaskError, load_task

ROWS = [
    {"shape": "a", "p50": 2.0, "passed": True}, {"shape": "b", "p50": 8.0, "passed": True}, {"note": "warm-up"},
]  # fmt: skip
PRINTED = {"status": "passed", "metrics": {"best_ms": 3.0}, "rows": ROWS[:2]}


def read(tmp_path: Path, bench: str, table: dict[str, Any], check: str = "", more: str = "") -> Result:
    """Return what a task with these keys reads of the table. Raises BadResult, TaskError."""
    folder = tmp_path / "one"
    folder.mkdir(parents=True)
    (folder / "kernel.py").touch()
    (folder / "bench.py").touch()
    (folder / "task.toml").write_text(
        '[task]\nname = "one"\nlanguage = "command"\neditable = ["kernel.py"]\n'
        f'[bench]\ncommand = "python3 bench.py kernel.py"\n{bench}\n[check]\n{check}\n{more}\n'
    )
    task = load_task(folder)
    return result(json.dumps(table), shape_of(task.bench, frozenset(task.check.good)))


def test_a_dotted_score(tmp_path: Path) -> None:
    assert read(tmp_path, 'score = "metrics.best_ms"', PRINTED).score == 3.0


def test_the_geometric_mean_of_every_entry(tmp_path: Path) -> None:
    assert read(tmp_path, 'score = "rows[*].p50"', PRINTED).score == pytest.approx(4.0)


@pytest.mark.parametrize(("unit", "us"), [("ns", 2e-3), ("us", 2.0), ("ms", 2e3), ("s", 2e6)])
def test_cases_where_the_task_says_in_its_unit(tmp_path: Path, unit: str, us: float) -> None:
    keys = f'score = "metrics.best_ms"\nunit = "{unit}"\ncases = {{at = "rows", name = "shape", time = "p50"}}'
    found = read(tmp_path, keys, {**PRINTED, "rows": ROWS})
    assert {name: case.us for name, case in found.cases.items()} == {"a": us, "b": pytest.approx(4 * us)}
    assert found.unread == ("rows[2]",)


@pytest.mark.parametrize(
    ("said", "is_right"), [("bit-exact", True), ("Bit-Exact", True), ("close", False), (None, False)]
)
def test_the_verdict_that_the_task_names(tmp_path: Path, said: str | None, is_right: bool) -> None:
    keys = 'score = "us"\nverdict = {key = "verification", good = ["bit-exact"]}'
    table = {"us": 3.0, "verification": said}
    if is_right:
        assert read(tmp_path, keys, table).confirmed
    else:
        with pytest.raises(BadResult, match='it says "verification"'):
            read(tmp_path, keys, table)


def test_a_failed_status_is_no_result_although_it_has_a_score(tmp_path: Path) -> None:
    with pytest.raises(BadResult, match='"status": failed'):
        read(tmp_path, 'score = "metrics.best_ms"', {**PRINTED, "status": "failed"})


def test_a_list_under_errors_is_the_reason(tmp_path: Path) -> None:
    table = {**PRINTED, "status": "failed", "errors": ["a: 3 of 4 wrong", "b: timed out"]}
    with pytest.raises(BadResult, match=r"^a: 3 of 4 wrong; b: timed out$"):
        read(tmp_path, 'score = "metrics.best_ms"', table)


def test_an_unknown_word_is_quoted_until_the_task_calls_it_good(tmp_path: Path) -> None:
    table = {**PRINTED, "status": "shipshape"}
    with pytest.raises(UnclearResult, match="shipshape"):
        read(tmp_path / "a", 'score = "metrics.best_ms"', table)
    assert read(tmp_path / "b", 'score = "metrics.best_ms"', table, 'good = ["shipshape"]').confirmed


def test_conditions_and_booleans_of_a_search(tmp_path: Path) -> None:
    keys = "[tune]\nTILE = [8, 16]\nFAST = [true, false]\n[sweep]\nwhere = [\"TILE <= 8 or FAST == 'true'\"]"
    read(tmp_path, 'score = "metrics.best_ms"', PRINTED, more=keys)
    task = load_task(tmp_path / "one")
    assert task.tune == {"TILE": ("8", "16"), "FAST": ("true", "false")}
    assert task.where == ("TILE <= 8 or FAST == 'true'",)


def test_an_editable_program_is_no_argument_of_itself(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="which an agent may edit"):
        read(tmp_path, 'score = "us"', PRINTED, more='[final]\ncommand = "python3 kernel.py bench.py"')
