"""Problems of reference-kernels with the usual shape are measured by kpd's own runner, with their eval.py beside it."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kpd.imports.bringing import Brought, bring
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused
from kpd.workspace.task import load_task
from tests.support.imports.folders import written
from tests.support.imports.popcorn import FILES, REFERENCE, YML


def brought(tmp_path: Path, changed: dict[str, str] | None = None, answers: Answers | None = None) -> Brought:
    changed = changed or {}
    files = FILES | {path: text for path in FILES for name, text in changed.items() if path.endswith(name)}
    files |= {name: text for name, text in changed.items() if name.startswith("one/")}
    folder = written(tmp_path / "a", files) / "one"
    return bring(folder, tmp_path / "b", "one", answers or Answers(device="cpu"))


def constants(folder: Path) -> dict[str, Any]:
    body = ast.parse((folder / "harness.py").read_text()).body
    pairs = [(ast.unparse(node.targets[0]), node.value) for node in body if isinstance(node, ast.Assign)]
    return {name: ast.literal_eval(value) for name, value in pairs if name != "FILLED"} | {
        name: eval(ast.unparse(value)) for name, value in pairs if name == "FILLED"
    }


def test_benchmarks_are_cases_and_the_tolerance_is_that_of_the_comparison(tmp_path: Path) -> None:
    task = load_task(brought(tmp_path).folder)
    assert (task.language, task.editable, task.bench.command) == ("python", ("submission.py",), None)
    assert (task.check.rtol, task.check.atol, task.summary) == (1e-3, 2.0, "Scale the rows.")
    assert constants(task.folder) == {
        "OUTPUTS": ("out",), "OTHERS": {}, "SEEDED": True, "FILLED": {(2,)},
        "CASES": {"rows=8,cols=64": {"rows": 8, "cols": 64}, "rows=32,cols=64": {"rows": 32, "cols": 64}},
    }  # fmt: skip
    assert {"kernel.py", "harness.py", "eval.py", "utils.py", "reference.py", "task.yml"} <= set(task.protected)
    assert "cuda" not in (task.folder / "kpd_reference.py").read_text()
    assert ".to(torch.float64)" in (task.folder / "kpd_reference64.py").read_text()
    assert (task.folder / "reference.py").read_text() == REFERENCE


def test_what_is_no_size_has_a_number_and_equal_sizes_two(tmp_path: Path) -> None:
    rows = (
        "benchmarks: [{rows: 8, kind: cauchy}, {rows: 8, kind: normal}, {rows: 8}, {rows: 8, mask: true, at: [1, 2]}]"
    )
    reference = REFERENCE.replace("(rows, cols, seed)", "(rows, **named)")
    yml = f"{YML.partition('benchmarks')[0]}{rows}\n"
    found = constants(brought(tmp_path, {"task.yml": yml, "reference.py": reference}).folder)
    assert found["CASES"] == {
        "rows=8,kind=cauchy": {"rows": 8, "case_number": 0}, "rows=8,kind=normal": {"rows": 8, "case_number": 1},
        "rows=8": {"rows": 8, "case_number": 2}, "rows=8,mask=True,at=[1, 2]": {"rows": 8, "case_number": 3},
    }  # fmt: skip
    assert found["OTHERS"] == {0: {"kind": "cauchy"}, 1: {"kind": "normal"}, 2: {}, 3: {"mask": True, "at": (1, 2)}}
    assert found["SEEDED"] is False


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("def generate_input", "def make_input", "reference.py has no function generate_input"),
        ("make_match_reference(ref_kernel, rtol=1e-3, atol=2)", "check", "is not make_match_reference"),
        ("rtol=1e-3", "rtol=SMALL", "is not make_match_reference"),
        ("(ref_kernel, rtol", "(other_kernel, rtol", "is not make_match_reference"),
        ("rows, cols, seed):", "rows, seed):", "generate_input takes no 'cols', which a benchmark of task.yml has"),
        ("import torch", "import torch (", "reference.py has no function generate_input"),
    ],
)
def test_another_shape_is_measured_by_its_eval_py_and_the_reason_is_told(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    changed = {"reference.py": REFERENCE.replace(old, new)}
    found = brought(tmp_path, changed)
    assert load_task(found.folder).bench.command == "python3 kpd_bench.py benchmark"
    assert [text for text in found.draft.assumed if text.startswith("eval.py measures it") and why in text]
    with pytest.raises(ImportRefused, match="kpd cannot measure it itself") as refused:
        brought(tmp_path / "again", changed, Answers(device="cpu", measured_by="kpd"))
    assert why in str(refused.value)


@pytest.mark.parametrize("answers", [Answers(measured_by="folder"), Answers(bench="python3 kpd_bench.py benchmark")])
def test_an_operator_may_have_the_folder_measure(tmp_path: Path, answers: Answers) -> None:
    found = brought(tmp_path, None, answers)
    assert load_task(found.folder).bench.command == "python3 kpd_bench.py benchmark"
    assert not (found.folder / "harness.py").exists()
    assert not [text for text in found.draft.assumed if "measures it" in text]


def test_a_file_that_the_harness_needs_is_not_overwritten(tmp_path: Path) -> None:
    yml = YML.replace("../utils.py}", "../utils.py}\n  - {name: kernel.py, source: kernel.py}")
    found = brought(tmp_path, {"task.yml": yml, "one/kernel.py": "mine = 1\n"})
    assert load_task(found.folder).bench.command is not None
    assert (found.folder / "kernel.py").read_text() == "mine = 1\n"


def test_the_folders_own_eval_py_is_a_second_opinion(tmp_path: Path) -> None:
    right = "def custom_kernel(data):\n    return [2 * x for x in data]\n"
    made = brought(tmp_path, {"one/submission.py": right}).folder
    wrong = written(tmp_path / "wrong", {"submission.py": "def custom_kernel(data):\n    return data\n"})
    (wrong / "eval.py").write_text("raise SystemExit(0)\n")  # a candidate brings no judge

    def asked(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(made / "kpd_second.py"), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ})

    own = asked()
    assert (own.returncode, own.stdout.count('"ok": true')) == (0, 2), own.stderr
    refused = asked(str(wrong))
    assert (refused.returncode, refused.stdout.count('"ok": false')) == (1, 2), refused.stderr
    nothing = asked(str(tmp_path / "a"))
    assert (nothing.returncode, "has none of submission.py" in nothing.stderr) == (1, True)


DRAWN = """\
import json, sys
sys.path[:0] = sys.argv[1:2]
import harness, kernel, torch
from kpd.measure.python.host.draw import Draw
one, same, other = (harness.inputs({"rows": 8, "cols": 64}, Draw(seed, "normal")) for seed in (5, 5, 6))
want = harness.truth(**one)
got = kernel.kernel(*one.values())
print(json.dumps({
    "names": list(one), "same": all(torch.equal(one[name], same[name]) for name in ("x0", "x1")),
    "other": torch.equal(one["x0"], other["x0"]), "dtypes": [str(one["x0"].dtype), str(want.dtype), str(got.dtype)],
    "off": float((want - got).abs().max()), "shape": list(want.shape),
}))
"""


def test_the_harness_draws_anew_and_says_what_is_right_in_double_precision(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("numpy", reason="NumPy is not installed")
    reference = REFERENCE.replace("cuda", "cpu")  # for the kernel, which calls ref_kernel
    files = {"reference.py": reference, "utils.py": "def make_match_reference(kernel, **named):\n    return None\n"}
    made = brought(tmp_path, files).folder
    done = subprocess.run([sys.executable, "-c", DRAWN, str(made)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("off") < 1e-3
    assert found == {
        "names": ["form", "x0", "x1"], "same": True, "other": False, "shape": [8, 64],
        "dtypes": ["torch.float16", "torch.float64", "torch.float32"],
    }  # fmt: skip


def test_what_goes_into_a_kernel_comes_out_again_and_memory_to_fill_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.syspath_prepend(brought(tmp_path).folder)
    data = importlib.import_module("kpd_data")
    x, unwritten = torch.ones(2, 3), torch.full((4,), float("nan"))
    given = (x, [unwritten, {"a": x, "b": 2}], torch.zeros(2), torch.ones(2), "text", None)
    leaves: list[Any] = []
    form = data.form_of(given, leaves, {(2,), (3,)})
    assert [leaf.tolist() for leaf in leaves] == [x.tolist(), x.tolist(), [1.0, 1.0]]
    make = data.maker(form)
    first, second = make(leaves), make(leaves)
    assert first[0] is leaves[0]
    assert first[1][0].shape == (4,)
    assert (first[1][1]["b"], first[4:]) == (2, ("text", None))
    first[2].add_(1)
    first[3].add_(1)
    assert (second[2].tolist(), second[3].tolist(), make(leaves)[3].tolist()) == ([0, 0], [1, 1], [1, 1])
    assert data.maker(form, double=True)(leaves)[2].dtype == torch.float64
    with pytest.raises(TypeError, match="generate_input gives Generator"):
        data.form_of((torch.Generator(),), [], set())
