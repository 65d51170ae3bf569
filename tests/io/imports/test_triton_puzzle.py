"""A puzzle's spec and kernel are taken out of its file, without the libraries that draw it."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kpd.imports.bringing import Brought, bring
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused, Unclear
from kpd.workspace.task import load_task
from tests.support.imports.folders import written
from tests.support.imports.runner import PUZZLE


class Placed(float):
    """A number with a device, as tensors have one."""

    device = nullcontext()


def made(tmp_path: Path, text: str, problem: str, device: str = "") -> Brought:
    answers = Answers(problem=problem, device=device)
    return bring(written(tmp_path / "a", {"p.py": text}) / "p.py", tmp_path / "b", "one", answers, "triton-puzzle")


def test_a_puzzle_that_is_solved_is_launched(tmp_path: Path) -> None:
    task = load_task(made(tmp_path, PUZZLE, "outer_kernel").folder)
    assert (task.language, task.editable, task.context) == ("triton", ("kernel.py",), ("spec.py",))
    kernel = (task.folder / "kernel.py").read_text()
    assert "# columns" in kernel and "display" not in kernel and "jaxtyping" not in kernel
    assert "outer_kernel[(4, 1, 1)](x, y, found, **{'N0': 32, 'N1': 16, 'B0': 8, 'B1': 32})" in kernel
    assert "torch.empty((16, 32), dtype=torch.float32" in kernel
    assert (task.folder / "spec.py").read_text() == (
        "import torch\n\n\ndef outer_spec(x, y):\n    return x[None, :] * y[:, None]\n"
    )
    assert "{'x': ((32,), 'float32'), 'y': ((16,), 'float32')}" in (task.folder / "harness.py").read_text()


def test_a_puzzle_that_is_not_solved_begins_as_its_spec(tmp_path: Path) -> None:
    task = load_task(made(tmp_path, PUZZLE, "add_spec").folder)
    scope: dict[str, Any] = {"Placed": Placed}
    spec = (task.folder / "spec.py").read_text().removeprefix("import torch\n")
    kernel = (task.folder / "kernel.py").read_text()
    assert "# Finish me!" in kernel
    exec(spec + kernel.replace("from spec import add_spec", "") + "found = kernel(Placed(1.0))", scope)
    assert scope["found"] == 11.0


def test_without_a_gpu_the_spec_is_the_baseline(tmp_path: Path) -> None:
    task = load_task(made(tmp_path, PUZZLE, "outer_kernel", "cpu").folder)
    kernel = (task.folder / "kernel.py").read_text()
    assert task.language == "python"
    assert "from spec import outer_spec" in kernel and "    def outer_kernel" in kernel


BRACKETS = PUZZLE.replace('Float32[Tensor, "200"]', "Float32[200,]").replace('Float32[Tensor, "32"]', "Float32[32]")
BRACKETS = BRACKETS.replace('Float32[Tensor, "16 32"]', "Float32[16, 32]").replace('[Tensor, "16"]', "[16,]")
LONG_LINES = PUZZLE.replace("_spec(x", "_spec(\n    x").replace('"]) ->', '"]\n) ->')


@pytest.mark.parametrize("text", [BRACKETS, LONG_LINES])
def test_shapes_may_stand_in_brackets_and_on_several_lines(tmp_path: Path, text: str) -> None:
    assert text != PUZZLE and ("Tensor, " not in text or "_spec(x" not in text)
    source = written(tmp_path / "a", {"p.py": text}) / "p.py"
    found = bring(source, tmp_path / "b", "one", Answers(problem="outer_kernel"))
    assert found.kind.name == "triton-puzzle"
    assert "torch.empty((16, 32), dtype=torch.float32" in (found.folder / "kernel.py").read_text()
    assert "{'x': ((32,), 'float32'), 'y': ((16,), 'float32')}" in (found.folder / "harness.py").read_text()


def test_the_truth_is_in_double_precision_also_where_the_spec_makes_tensors(tmp_path: Path) -> None:
    folder = made(tmp_path, PUZZLE, "add_spec").folder
    types = ["float32"]
    torch = SimpleNamespace(set_default_dtype=types.append, float32="float32", float64="float64")
    scope: dict[str, Any] = {"torch": torch, "add_spec": lambda x: (x, types[-1])}
    text = (folder / "harness.py").read_text()
    exec(text.replace("import torch\n", "").replace("from spec import add_spec", ""), scope)
    given = SimpleNamespace(is_floating_point=lambda: True, double=lambda: 1.0)
    assert scope["truth"](x=given) == (1.0, "float64")
    assert types[-1] == "float32"


def test_one_of_several_puzzles_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(Unclear, match=r"which of 2 puzzles\? \(add_kernel, outer_kernel\)"):
        made(tmp_path, PUZZLE, "")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('nelem={"N0": 200}', "nelem=sizes()", "nelem is no table of whole numbers"),
        ('nelem={"N0": 200}', 'nelem={"N0": 0}', "nelem is no table of whole numbers"),
        ('nelem={"N0": 200}', 'nelem={"a b": 4}', "nelem is no table of whole numbers"),
        ('(x: Float32[Tensor, "200"])', '(x: Float32[Tensor, "n"])', "does not say the shape of x"),
        ('(x: Float32[Tensor, "200"])', "(x)", "does not say the shape of x"),
        ('-> Float32[Tensor, "200"]', '-> Complex64[Tensor, "200"]', "does not say the shape of its result"),
        ("(x: Float32[Tensor, \"200\"])", "()", "has no arguments"),
        ("test(add_kernel, add_spec", "test(add_kernel, other", "names 0 puzzles"),
        ("SHIFT = 10.0", "SHIFT = (", "is no Python"),
    ],
)  # fmt: skip
def test_an_odd_puzzle_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in PUZZLE
    with pytest.raises(ImportRefused, match=told):
        made(tmp_path, PUZZLE.replace(old, new), "add_kernel")
