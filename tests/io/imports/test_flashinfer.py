"""A definition of flashinfer-bench becomes a harness for kpd's own runner; what it gets wrong is named."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from kpd.imports.bringing import Brought, bring
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused, Unclear
from kpd.imports.flashinfer import MOST_CASES
from kpd.workspace.task import load_task
from tests.support.imports.folders import written
from tests.support.imports.runner import DEFINITION, FLASHINFER, lines, workload


def made(tmp_path: Path, files: dict[str, str], problem: str = "") -> Brought:
    return bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers(problem=problem, device="cpu"))


def constants(folder: Path) -> dict[str, Any]:
    body = ast.parse((folder / "harness.py").read_text()).body
    assigned = [node for node in body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    return {node.targets[0].id: ast.literal_eval(node.value) for node in assigned}  # type: ignore[attr-defined]


def test_a_case_for_each_workload(tmp_path: Path) -> None:
    found = made(tmp_path, FLASHINFER)
    task = load_task(found.folder)
    assert (task.language, task.editable, task.summary) == ("python", ("kernel.py",), "Scales each row")
    assert constants(task.folder) == {
        "INPUTS": {"x": (("rows", "d"), "float16"), "weight": (("d",), "bfloat16"), "eps": ((), "float32")},
        "SCALARS": {"eps": 1e-6}, "OUTPUTS": ("y",),
        "CASES": {"rows=8": {"d": 64, "rows": 8}, "rows=512": {"d": 64, "rows": 512}},
    }  # fmt: skip
    assert (task.folder / "definition.json").read_text() == FLASHINFER["definition.json"]
    assert "x.to(torch.float64) * weight.double() + eps" in (task.folder / "reference64.py").read_text()
    assert "x.to(torch.float32) * weight.float() + eps" in (task.folder / "reference.py").read_text()


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (workload(8, kind="safetensors"), "its x comes of a file"),
        (workload(4, eps=None), "its scalars are others"),
        (workload(4, eps=2.0), "its scalars are others"),
        (workload(512), "another workload has its sizes"),
        (workload(0), "its size of rows cannot be"),
        ({"workload": {"axes": {}}}, "it has no size of rows"),
        ({"axes": {"rows": 4, "cols": 4}}, "its size of cols cannot be"),
    ],
)
def test_a_workload_that_is_no_case_is_told(tmp_path: Path, odd: dict[str, Any], why: str) -> None:
    found = made(tmp_path, {**FLASHINFER, "workloads.jsonl": FLASHINFER["workloads.jsonl"] + lines(odd)})
    assert len(constants(found.folder)["CASES"]) == 2
    assert any(f"line 3 of workloads.jsonl: {why}" in weak for weak in found.draft.weak), found.draft.weak


def test_there_are_not_more_cases_than_can_be_timed(tmp_path: Path) -> None:
    for count in (MOST_CASES, MOST_CASES + 1):
        given = lines(*(workload(rows) for rows in range(1, count + 1)))
        found = made(tmp_path / str(count), {**FLASHINFER, "workloads.jsonl": given})
        assert len(constants(found.folder)["CASES"]) == MOST_CASES
        assert any("are the most" in weak for weak in found.draft.weak) == (count > MOST_CASES)


def test_random_integers_have_no_range(tmp_path: Path) -> None:
    changed = {**DEFINITION, "inputs": {**DEFINITION["inputs"], "x": {"shape": ["rows"], "dtype": "int32"}}}
    with pytest.raises(ImportRefused, match="nothing says from where to where"):
        made(tmp_path, {**FLASHINFER, "definition.json": json.dumps(changed)})


def test_one_definition_of_a_checkout(tmp_path: Path) -> None:
    files = {
        "definitions/scale/scaled_d64.json": FLASHINFER["definition.json"],
        "definitions/norm/norm_d64.json": json.dumps({**DEFINITION, "name": "norm_d64"}),
        "workloads/scale/scaled_d64.jsonl": FLASHINFER["workloads.jsonl"],
    }
    with pytest.raises(Unclear, match="which of 2 definitions"):
        made(tmp_path, files)
    assert "rows=8" in constants(made(tmp_path, files, "scaled_d64").folder)["CASES"]
    for problem, told in (("norm_d64", "has no workloads"), ("other", "names 0 definitions")):
        with pytest.raises(ImportRefused, match=told):
            made(tmp_path, files, problem)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"axes": 3}, r"\$.axes"),
        ({"axes": {"rows": {"type": "var"}, "d": {"type": "const"}}}, "the axis d is constant, but has no value"),
        ({"axes": {"rows": {"type": "other"}}}, r"\$.axes"),
        ({"axes": {"d": {"type": "var"}}}, "the shape of x has 'rows', which is no axis"),
        ({"inputs": {"x": {"dtype": "float16", "shape": "rows"}}}, r"\$.inputs"),
        ({"inputs": {'x"); import os; ("': {"dtype": "float16", "shape": ["rows"]}}}, "has the name"),
        ({"inputs": {"class": {"dtype": "float16", "shape": ["rows"]}}}, "has the name 'class'"),
        ({"inputs": {}}, "no inputs"),
        ({"outputs": {}}, "no inputs or no outputs"),
        ({"reference": "def walk():\n    pass\n"}, "no function run"),
        ({"reference": None}, r"\$.reference"),
    ],
)
def test_an_odd_definition_is_refused(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ImportRefused, match=told):
        made(tmp_path, {**FLASHINFER, "definition.json": json.dumps({**DEFINITION, **changed})})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no workload can be a case: workloads.jsonl is empty"),
        ("3\n", "line 1 of workloads.jsonl does not have"),
        ("\n{\n", "line 2 of workloads.jsonl is no JSON"),
        ('{"workload": {"axes": {"rows": "8"}}}\n', "line 1 of workloads.jsonl does not have"),
        ('{"workload": ' + "[" * 20_000 + "\n", "is no JSON"),
    ],
)
def test_odd_workloads_are_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ImportRefused, match=told):
        made(tmp_path, {**FLASHINFER, "workloads.jsonl": text})
