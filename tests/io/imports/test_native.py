"""A kernel in C or C++ alone becomes a task for kpd's own driver; what its prototype does not say is named."""

from pathlib import Path

import pytest

from kpd.imports.bringing import Brought, bring
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused, Unclear
from kpd.workspace.task import load_task
from tests.support.imports.folders import written

SAXPY = '#include "fused.h"\nvoid saxpy(float alpha, const float *restrict x, float y[], int n) { }\n'
C = {"saxpy.c": SAXPY, "fused.h": "float fused(float);\n", "fused.c": "float fused(float a) { return a; }\n"}
PREFIX = """\
template <typename T> struct Sum { T value; void add(T x) { value += x; } };
static void helper(float *y) {}
extern "C" void prefix(const double *x, double *y, long rows, size_t cols) {
  Sum<double> sum{0};
  for (long i = 0; i < rows * cols; i++) { sum.add(x[i]); y[i] = sum.value; }
}
"""


def made(tmp_path: Path, files: dict[str, str], problem: str = "") -> Brought:
    return bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers(problem=problem), "native")


def test_a_kernel_in_c_with_its_other_files(tmp_path: Path) -> None:
    task = load_task(made(tmp_path, C, "saxpy").folder)
    assert (task.language, task.editable) == ("c", ("kernel.c", "fused.c", "build.json"))
    assert (task.check.truth, task.check.compare, task.protected) == (
        "baseline", "norm", ("fused.h", "harness.c", "task.toml"),
    )  # fmt: skip
    harness = (task.folder / "harness.c").read_text()
    assert '{"x", KPD_IN, KPD_F32, count}' in harness and '{"y", KPD_INOUT, KPD_F32, count}' in harness
    assert "void (*)(float, const float *, float *, int))kernel)(0.75f, data[0], data[1], (int)c->dims[0])" in harness


def test_a_kernel_in_cpp_has_the_name_of_c(tmp_path: Path) -> None:
    found = made(tmp_path, {"src/prefix.cpp": PREFIX, "src/more.hpp": "#pragma once\n"})
    task = load_task(found.folder)
    assert (task.language, task.editable) == ("c++", ("kernel.cpp", "build.json"))
    assert (task.folder / "more.hpp").exists()
    harness = (task.folder / "harness.c").read_text()
    assert '{"rows", "cols"}' in harness and "KPD_F64" in harness and "(size_t)c->dims[1])" in harness


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PREFIX.replace('extern "C" ', ""), "no function gets arrays"),
        (PREFIX.replace("const double *x", "const int *x"), "has the argument 'const int *x'"),
        (PREFIX.replace("const double *x", "std::vector<double> &x"), "has the argument 'std::vector<double> &x'"),
        (PREFIX.replace("long rows, size_t cols", "double scale"), "has 0 sizes among its arguments"),
        (PREFIX.replace(", double *y", ", const double *y"), "must fill an array"),
        (PREFIX.replace("size_t cols", "size_t a, size_t b, size_t c, size_t d"), "has 5 sizes"),
        (PREFIX.replace("long rows", "long (*rows)(int)"), "has the argument"),
        (PREFIX + "int main() {}\n", "no function gets arrays"),
    ],
)
def test_what_no_harness_can_be_drafted_of_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        made(tmp_path, {"prefix.cpp": text})
    assert told in str(refused.value), refused.value
    assert refused.value.remedy


def test_one_of_several_functions_is_asked_for(tmp_path: Path) -> None:
    two = PREFIX + PREFIX.partition("static")[2].replace(" prefix(", " suffix(").replace("void helper", "static void h")
    with pytest.raises(Unclear, match=r"which of 2 functions\? \(prefix, suffix\)"):
        made(tmp_path, {"prefix.cpp": two})
    with pytest.raises(ImportRefused, match="no function 'other'"):
        made(tmp_path, {"prefix.cpp": two}, "other")


def test_a_file_that_the_task_needs_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=r"(kernel\.c|build\.json) is there already"):
        made(tmp_path, {**C, "kernel.c": "int more(void) { return 1; }\n"}, "saxpy")


def test_a_script_beside_it_makes_it_another_format(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="none of the formats"):
        bring(written(tmp_path / "a", {**C, "run.py": ""}), tmp_path / "b", "one", Answers())
