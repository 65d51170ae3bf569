"""How many outputs a model of KernelBench has, the return statements of its forward say."""

from pathlib import Path

import pytest

from kpd.imports.bringing import bring
from kpd.imports.draft import Answers
from tests.support.imports.folders import written

PROBLEM = """\
class Model:
    def forward(self, x):
        {}

    def parts(self, x):
        return x, x

def get_inputs():
    return []
def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("forward", "outputs"),
    [
        ("return x", "('out',)"),
        ("return x, x + 1", "('out0', 'out1')"),
        ("return (x, x, x) if x else (x, x, x)", "('out',)"),
        ("return self.parts(x)", "('out',)"),
        ("if x: return x, 1\n        return x", "('out',)"),
        ("if x: return x, 1\n        return x, 2", "('out0', 'out1')"),
        ("return x +* 1", "('out',)"),
    ],
)
def test_outputs_are_those_of_forward(tmp_path: Path, forward: str, outputs: str) -> None:
    folder = written(tmp_path / "a", {"1_P.py": PROBLEM.format(forward)})
    made = bring(folder, tmp_path / "b", "one", Answers(device="cpu")).folder
    assert f"\nOUTPUTS = {outputs}\n" in (made / "harness.py").read_text()
