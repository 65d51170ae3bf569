"""Folders of other tools become tasks that kpd takes as they are, each with a kernel that fails when it is broken."""

import json
from pathlib import Path

import pytest

from kpd.measure.screen import spliced
from kpd.workspace.sections import ProtectedSection
from kpd.workspace.task import load_task
from tests.support.cli.roots import root
from tests.support.imports import pilot
from tests.support.imports.folders import imported, written

__all__ = ["root"]

EVOLVED = {
    "initial_program.py": "# EVOLVE-BLOCK-START\ndef scale(x):\n    return [2 * v for v in x]\n# EVOLVE-BLOCK-END\n",
    "evaluator.py": """\
import importlib.util
from openevolve.evaluation_result import EvaluationResult
def evaluate(path):
    print("evaluating", path)
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    right = program.scale([1, 4]) == [2, 8]
    return EvaluationResult(metrics={"correctness": 1.0 if right else 0.5, "combined_score": min(0.8, 1.0)})
""",
    "config.yaml": "max_iterations: 3\n",
}
GOOGLE = {
    "scale.cpp": "#include \"scale.h\"\nvoid scale(float *x, int n) {\n  for (int i = 0; i < n; i++) x[i] *= 2;\n}\n",
    "scale.h": "void scale(float *x, int n);\n",
    "include/benchmark/benchmark.h": "#include <stdio.h>\n",
    "bench.cpp": """\
#include <benchmark/benchmark.h>
#include "scale.h"
int main() {
  float x[64] = {1};
  scale(x, 64);
  printf("{\\"context\\": {}, \\"benchmarks\\": [");
  const char *row = "{\\"name\\": \\"%s\\", \\"run_type\\": \\"%s\\", \\"real_time\\": %f, \\"time_unit\\": \\"ns\\"}";
  printf(row, "BM/64", "iteration", 1500.0);
  printf(",");
  printf(row, "BM/64_mean", "aggregate", 9.0);
  printf("]}\\n");
}
""",
    "check.cpp": "#include \"scale.h\"\n#include <stdio.h>\nint main() {\n  float x[1] = {3};\n  scale(x, 1);\n"
                 "  printf(\"{\\\"ok\\\": %s}\\n\", x[0] == 6 ? \"true\" : \"false\");\n}\n",
    "Makefile": "bench: bench.cpp scale.cpp\n\tg++ -O1 -Iinclude -o bench bench.cpp scale.cpp\n",
}  # fmt: skip


PRINTED = {
    "main.c": """\
#include <stdio.h>
void scale(float *x, int n);
int main(void) {
  float x[64], sum = 0;
  for (int i = 0; i < 64; i++) x[i] = i;
  scale(x, 64);
  for (int i = 0; i < 64; i++) sum += x[i];
  printf("best time: %.3f ms (%.2f GB/s)\\nchecksum: %.6e\\n", 1.5, 3.0, sum);
}
""",
    "scale.c": "void scale(float *x, int n) {\n  for (int i = 0; i < n; i++) x[i] *= 2;\n}\n",
    "Makefile": "run: bench\n\t./bench\nbench: main.c scale.c\n\tgcc -O1 -o bench main.c scale.c\n",
}
CPP = """\
template <typename T> struct Sum {
  T value;
  __attribute__((noinline)) void add(T x) { value += x; }
};
extern "C" void prefix(const float *x, float *y, long rows, long cols) {
  for (long r = 0; r < rows; r++) {
    Sum<float> sum{0};
    for (long i = 0; i < cols; i++) {
      sum.add(x[r * cols + i]);
      y[r * cols + i] = sum.value;
    }
  }
}
"""
PROBLEM = """\
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.rand(16, 16)]
def get_init_inputs():
    return []
"""
YML = """\
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "../eval.py"}
lang: "py"
description: |
  Double each value.
config:
  main: "eval.py"
tests:
  - {"size": 3, "seed": 1}
benchmarks:
  - {"size": 1000, "seed": 2}
  - {"size": 4000, "seed": 3}
test_timeout: 30
"""
EVAL = """\
import os, sys, time
from reference import generate, ref_kernel
from submission import custom_kernel
os.environ["POPCORN_SEED"]
out = os.fdopen(int(os.environ["POPCORN_FD"]), "w")
rows = [dict(part.split(": ") for part in line.split("; ")) for line in open(sys.argv[2]).read().splitlines()]
print("noise: on stdout")
out.write(f"{sys.argv[1]}-count: {len(rows)}\\n")
bad = 0
for number, row in enumerate(rows):
    data = generate(int(row["size"]), int(row["seed"]))
    begun = time.perf_counter()
    got = custom_kernel(list(data))
    ns = (time.perf_counter() - begun) * 1e9
    spec = "; ".join(f"{key}: {value}" for key, value in row.items())
    out.write(f"{sys.argv[1]}.{number}.spec: {spec}\\n")
    out.write(f"{sys.argv[1]}.{number}.mean: {ns}\\n")
    if got != ref_kernel(data):
        bad += 1
        out.write(f"{sys.argv[1]}.{number}.error: mismatch found\\n")
out.write(f"check: {'fail' if bad else 'pass'}\\n")
out.close()
sys.exit(112 if bad else 0)
"""
REFERENCE = """\
import random
def generate(size, seed):
    draw = random.Random(seed)
    return [draw.randrange(1, 99) for _ in range(size)]
def ref_kernel(data):
    return [2 * value for value in data]
"""
POPCORN = {"sets/double/task.yml": YML, "sets/double/reference.py": REFERENCE, "sets/eval.py": EVAL}


TUNED = """\
import kernel_tuner

source = "float kernel_ms = 2.0;\\\\n// {TILE}\\\\n"
tune_params = dict()
tune_params["TILE"] = [16, 8, 32]
tune_params["WARPS"] = [2 ** n for n in range(3)]
kernel_tuner.tune_kernel("scale", source, 64, [], tune_params, answer=[2.0], cache="old", lang="C",
                         restrictions=["TILE <= 16"])
"""
# Stands for the package: "time" is what the source says, and an answer of another value than 2 is wrong.
TUNER = """\
import re
def tune_kernel(name, source, size, arguments, tune_params, **named):
    assert "cache" not in named
    assert all(len(values) == 1 for values in tune_params.values())
    print("tuning", tune_params)
    if named["answer"] != [2.0] or "ms" not in source:
        return [{**tune_params, "time": "RuntimeFailedConfig"}], {}
    return [{"time": float(re.search("= ([0-9.]+)", source)[1]) * 8 / tune_params["TILE"][0]}], {}
"""


def test_a_prompted_folder_of_kernel_pilot(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told, said = imported(root, capsys, str(written(tmp_path / "scale", pilot.PROMPT)))
    assert code == 0, said
    task = load_task(root / "tasks" / "scale")
    assert (task.areas, task.records) == (("src/",), ("benchmark.csv", "profile/", "solutions.jsonl"))
    assert task.context == ("prompt.md", "interface.md")
    assert "benchmark.csv" not in task.protected
    assert told["format"] == "kernel-pilot"
    assert any("2 cases (n2000, n4000)" in note for note in told["notes"])
    assert any("a broken kernel fails" in note for note in told["notes"]), told["notes"]


def test_a_standalone_folder_of_kernel_pilot(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path / "h200_scale", pilot.STANDALONE)
    code, told, said = imported(root, capsys, str(folder), "--device", "cpu")
    assert code == 0, said
    task = load_task(root / "tasks" / "h200_scale")
    assert (task.areas, task.bench.limit_s, task.summary) == (("solution/",), 60.0, "scale")
    assert any("1 case (a)" in note for note in told["notes"])
    assert any("a broken kernel fails" in note for note in told["notes"]), told["notes"]
    code, told, said = imported(root, capsys, str(folder), "--as", "on_gpu")
    assert code == 0, said
    assert load_task(root / "tasks" / "on_gpu").need.gpu == "H200"
    assert any("no GPU: nothing was run" in note for note in told["notes"])


def test_a_standalone_folder_without_a_solution_has_no_baseline(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path: text for path, text in pilot.STANDALONE.items() if not path.startswith("solution/")}
    code, _, said = imported(root, capsys, str(written(tmp_path / "late", files)), "--device", "gpu")
    assert code == 0, said
    task = load_task(root / "tasks" / "late")
    assert (task.baseline, task.editable, task.areas) == ("absent", (), ("solution/kernel.py",))


def test_an_example_of_openevolve(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told, said = imported(root, capsys, str(written(tmp_path / "evolve", EVOLVED)))
    assert code == 0, said
    task = load_task(root / "tasks" / "evolve")
    assert (task.editable, task.bench.direction) == (("initial_program.py",), "higher")
    assert told["read"] == {"score": "score", "value": 0.8}
    assert any("what is in the EVOLVE-BLOCK of initial_program.py" in text for text in told["assumed"])
    assert task.sectioned == "initial_program.py"
    with pytest.raises(ProtectedSection):
        spliced(task, {"initial_program.py": EVOLVED["initial_program.py"].encode() + b"print('{}')\n"})
    assert any("correctness is 0.5" in note for note in told["notes"]), told["notes"]


def test_what_a_check_lets_pass_is_told_and_written(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near = "all(abs(got - 2 * x) < 0.01 for got, x in zip(program.scale([1.0, 4.0]), [1.0, 4.0]))"
    files = {
        "initial_program.py": "def scale(x):\n    return [2.0 * v for v in x]\n",
        "evaluator.py": EVOLVED["evaluator.py"].replace("program.scale([1, 4]) == [2, 8]", near),
    }
    code, told, said = imported(root, capsys, str(written(tmp_path / "loose", files)))
    assert code == 0, said
    passed = [weak for weak in told["weak"] if " pass" in weak and "imports the program" not in weak]
    assert [weak.partition(":")[0] for weak in passed] == [
        "a kernel that returns again what it returned first passes", "results that are off by 1 in 2048 pass",
    ]  # fmt: skip
    lines = (root / "tasks" / "loose" / "task.toml").read_text().splitlines()
    assert [line for line in lines if line.startswith("# weak: results that are off")], lines


def test_a_program_of_google_benchmark_needs_a_check(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "google", GOOGLE)
    code, _, said = imported(root, capsys, str(folder))
    assert (code, "nothing compares the results" in said, "--unchecked" in said) == (64, True, True), said
    check = "g++ -o check check.cpp scale.cpp -x c++ && ./check"
    code, told, said = imported(root, capsys, str(folder), "--check", "sh check.sh")
    assert (code, "the task does not run" in said) == (64, True), said
    (folder / "check.sh").write_text(f"{check}\n")
    code, told, said = imported(root, capsys, str(folder), "--check", "sh check.sh")
    assert code == 0, said
    assert load_task(root / "tasks" / "google").editable == ("scale.cpp",)
    assert told["read"] == {"score": "best_us", "value": 1.5}
    assert any("a broken kernel fails" in note for note in told["notes"]), told["notes"]


def test_a_program_that_prints_its_times(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told, said = imported(root, capsys, str(written(tmp_path / "scale", PRINTED)))
    assert code == 0, said
    task = load_task(root / "tasks" / "scale")
    assert (task.editable, task.bench.score) == (("scale.c",), "best_time_ms")
    assert told["read"] == {"score": "best_time_ms", "value": 1.5}
    assert any("a broken kernel fails" in note and "checksum" in note for note in told["notes"]), told["notes"]


def test_a_kernel_in_cpp_alone(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told, said = imported(root, capsys, str(written(tmp_path / "prefix", {"prefix.cpp": CPP})))
    assert code == 0, said
    assert load_task(root / "tasks" / "prefix").language == "c++"
    assert any("worst element at 0 of the tolerance" in note for note in told["notes"]), told["notes"]
    assert any("a broken kernel fails" in note and "y[" in note for note in told["notes"]), told["notes"]


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ({"config.toml": "[task\n"}, "config.toml cannot be read"),
        ({"bench/workloads.json": "{"}, "bench/workloads.json is no JSON"),
        ({"bench/workloads.json": json.dumps([{"id": "gone", "n": 1, "production": True}])}, "gone: no result"),
        (
            {"bench/benchmark.py": pilot.BENCH.replace('"PASSED"', '"SHIPSHAPE"')},
            "a: status 'SHIPSHAPE' instead of 'PASSED'",
        ),
    ],
)
def test_what_a_standalone_folder_gets_wrong_is_quoted(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str], asked: str
) -> None:
    files = {**pilot.STANDALONE, **change}
    if "gone" in asked:
        files["bench/benchmark.py"] = pilot.BENCH.replace('work["id"]', '"a"')
    code, _, said = imported(root, capsys, str(written(tmp_path / "odd", files)), "--device", "cpu")
    assert (code, asked in said) == (64, True), said


def test_a_problem_of_reference_kernels(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path, POPCORN) / "sets" / "double"
    code, told, said = imported(root, capsys, str(folder), "--device", "cpu")
    assert code == 0, said
    task = load_task(root / "tasks" / "double")
    assert (task.editable, task.summary, task.check.limit_s) == (("submission.py",), "Double each value.", 30.0)
    assert set(task.protected) == {
        "benchmarks.txt", "eval.py", "kpd_bench.py", "reference.py", "task.toml", "task.yml", "tests.txt",
    }  # fmt: skip
    assert (task.folder / "tests.txt").read_text() == "size: 3; seed: 1\n"
    assert any("2 cases (0: size: 1000; seed: 2, 1: size: 4000; seed: 3)" in note for note in told["notes"])
    assert any("a broken kernel fails" in note and "mismatch found" in note for note in told["notes"]), told["notes"]


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("../eval.py", "../../../etc/passwd", "names the source '../../../etc/passwd'"),
        ("../eval.py", "/etc/passwd", "names the source '/etc/passwd'"),
        ("../eval.py", "../link.py", "is a link that leads out"),
        ("../eval.py", "../none.py", "task.yml takes '../none.py', and there is no such file"),
        ('"eval.py", "source"', '"other.py", "source"', "no source for 'eval.py'"),
        ("benchmarks:", "others:", "no list of benchmarks"),
        ("files:", "multi_gpu: true\nfiles:", "several GPUs"),
        ("files:", "files: [", "task.yml cannot be read"),
    ],
)
def test_a_hostile_task_yml(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, asked: str
) -> None:
    folder = written(tmp_path / "a", {**POPCORN, "sets/double/task.yml": YML.replace(old, new)}) / "sets"
    (folder / "link.py").symlink_to("/etc/passwd")
    code, _, said = imported(root, capsys, str(folder / "double"), "--device", "cpu")
    assert (code, asked in said) == (64, True), said


def test_problems_of_kernelbench_by_file_and_by_number(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = written(tmp_path / "one", {"19_Double.py": PROBLEM}) / "19_Double.py"
    code, told, said = imported(root, capsys, str(one), "--as", "double")
    assert code == 0, said
    task = load_task(root / "tasks" / "double")
    assert (task.language, task.editable, task.bench.command) == ("triton", ("kernel.py",), None)
    assert task.protected == ("harness.py", "problem.py", "task.toml")
    assert any("no GPU: nothing was run" in note for note in told["notes"])
    many = {f"KernelBench/level{level}/{number}_P.py": PROBLEM for level in (1, 2) for number in (1, 19)}
    folder = written(tmp_path / "many", many)
    code, _, said = imported(root, capsys, str(folder), "--as", "b")
    assert (code, "--problem" in said) == (64, True), said
    code, _, said = imported(root, capsys, str(folder), "--as", "b", "--problem", "3/19")
    assert (code, "'3/19' names 0 problems" in said) == (64, True), said
    code, told, said = imported(root, capsys, str(folder), "--as", "b", "--problem", "2/19")
    assert code == 0, said
    assert load_task(root / "tasks" / "b").summary == "KernelBench KernelBench/level2/19_P"


def test_a_script_of_kernel_tuner(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path / "tuned", {"tune.py": TUNED, "kernel_tuner.py": TUNER})
    code, told, said = imported(root, capsys, str(folder))
    assert code == 0, said
    task = load_task(root / "tasks" / "tuned")
    assert (task.editable, task.tune) == (("kernel.c", "params.json"), {"TILE": ("16", "8", "32")})
    assert task.where == ("TILE <= 16",)
    assert json.loads((task.folder / "params.json").read_text()) == {"TILE": 16}
    assert told["read"] == {"score": "best_us", "value": 1000.0}
    assert any("WARPS is no list of plain values" in weak for weak in told["weak"])
    unanswered = written(tmp_path / "not", {"tune.py": TUNED.replace("answer=[2.0], ", ""), "kernel_tuner.py": TUNER})
    code, _, said = imported(root, capsys, str(unanswered))
    assert (code, "has no answer, so nothing compares the results" in said) == (64, True), said
