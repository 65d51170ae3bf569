"""What a folder says of itself leads neither out of it nor into a traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.imports.bringing import bring
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused
from kpd.imports.popcorn import MOST_YAML
from kpd.imports.source import read_folder
from tests.support.imports import harnessgym as gym, pilot
from tests.support.imports.folders import written

DEEP = "[" * 20000
YML = """\
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: eval.py, source: ../eval.py}
  - {name: task.py, source: own.py}
config: {main: eval.py}
tests: [{size: 3, shape: [1, 2]}]
benchmarks: [{size: 4}]
"""


def problem(folder: Path, old: str = "", new: str = "") -> Path:
    written(folder, {"sets/eval.py": "shared\n", "sets/id_rsa": "secret\n", "sets/one/own.py": "own\n"})
    assert old in YML
    return written(folder / "sets" / "one", {"task.yml": YML.replace(old, new) if old else YML})


def test_files_of_the_folder_above_are_told(tmp_path: Path) -> None:
    found = bring(problem(tmp_path / "a"), tmp_path / "b", "one", Answers())
    assert (found.folder / "eval.py").read_text() == "shared\n"
    assert (found.folder / "tests.txt").read_text() == "size: 3; shape: (1, 2)\n"
    assert "task.yml takes of the folders above: ../eval.py" in found.draft.assumed


@pytest.mark.parametrize("name", ["{root}/out.py", "../../out.py", "../out.py", "./out.py", ".out.py", "a/../b.py"])
@pytest.mark.parametrize("place", ["task.py", "submission.py"])
def test_no_file_is_written_outside_of_the_task(tmp_path: Path, place: str, name: str) -> None:
    folder = problem(tmp_path / "a", f"name: {place}", f"name: {name.format(root=tmp_path)}")
    with pytest.raises(ImportRefused, match=r"a file of the task would be|is not in"):
        bring(folder, tmp_path / "b" / "c", "one", Answers())
    assert not list(tmp_path.glob("**/*out.py"))


@pytest.mark.parametrize(
    "source", ["../id_rsa", "../.ssh/id_rsa", "../../a.py", "../two/a.py", "/etc/passwd", ".env", "gone.py", "../.a.py"]
)
def test_no_file_is_read_beside_the_folder(tmp_path: Path, source: str) -> None:
    folder = problem(tmp_path, "source: own.py", f"source: {source}")
    written(folder, {".env": "secret\n"})
    with pytest.raises(ImportRefused, match=r"task\.yml names the source"):
        bring(folder, tmp_path / "b", "one", Answers())


@pytest.mark.parametrize("target", ["id_rsa", "/etc/passwd", "two/a.py"])
def test_a_link_above_leads_to_no_other_file(tmp_path: Path, target: str) -> None:
    folder = problem(tmp_path, "source: own.py", "source: ../link.py")
    written(tmp_path / "sets" / "two", {"a.py": "another's\n"})
    (tmp_path / "sets" / "link.py").symlink_to(target)
    with pytest.raises(ImportRefused, match="is a link that leads out"):
        bring(folder, tmp_path / "b", "one", Answers())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("config: {main: eval.py}", "config: 3", r"\$.config"),
        ("config:", "test_timeout: soon\nconfig:", r"\$.test_timeout"),
        ("config:", "benchmark_timeout: .inf\nconfig:", r"\$.benchmark_timeout"),
        ("config:", "description: [1]\nconfig:", r"\$.description"),
        ("  - {name: task.py, source: own.py}", "  - task.py", r"\$.files\[2\]"),
        ("tests: [{size: 3, shape: [1, 2]}]", "tests: {size: 3}", r"\$.tests"),
        ("shape: [1, 2]", "shape: [[1], [2]]", r"\$.tests"),
        ("benchmarks: [{size: 4}]", "benchmarks: []", "no list of benchmarks"),
        ("config:", "when: 2026-99-99\nconfig:", "cannot be read"),
        ("config:", "deep: DEEP\nconfig:", "cannot be read"),
        ("config:", "long: LONG\nconfig:", "more than 64 KiB"),
    ],
)
def test_an_odd_task_yml_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(ImportRefused, match=told):
        read = read_folder(problem(tmp_path, old, new.replace("DEEP", DEEP).replace("LONG", "x" * MOST_YAML)))
        assert read.has("task.yml")
        bring(read.root, tmp_path / "b", "one", Answers())


@pytest.mark.parametrize(
    ("says", "ok"),
    [
        ("benchmark-count: 0", False),
        ("benchmark-count: 1", False),
        ("benchmark-count: 1\\nbenchmark.0.mean: 0", False),
        ("benchmark-count: 1\\nbenchmark.0.mean: 2e3", True),
    ],
)
def test_a_benchmark_without_a_time_is_no_result(tmp_path: Path, says: str, ok: bool) -> None:
    found = bring(problem(tmp_path / "a"), tmp_path / "b", "one", Answers())
    told = f'import os\nos.write(int(os.environ["POPCORN_FD"]), b"check: pass\\n{says}\\n")\n'
    (found.folder / "eval.py").write_text(told)
    done = subprocess.run([sys.executable, "kpd_bench.py", "benchmark"], cwd=found.folder, capture_output=True)
    result = json.loads(done.stdout)
    assert (result["ok"], result.get("best_us"), done.returncode) == (ok, 2.0 if ok else None, 0 if ok else 1)
    assert result["errors"] == ([] if ok else ["eval.py says no mean of each benchmark"])


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("config.toml", "build = 3\n", r"\$.build"),
        ("config.toml", "[build]\ncandidate_entry_points = 'a.py'\n", r"\$.build.candidate_entry_points"),
        ("config.toml", "[benchmark]\ntimeout_seconds = '10m'\n", r"\$.benchmark.timeout_seconds"),
        ("config.toml", "[benchmark]\ntimeout_seconds = 0\n", r"\$.benchmark.timeout_seconds"),
        ("config.toml", "task = []\n", r"\$.task"),
        ("bench/workloads.json", '{"workloads": null}', r"\$.workloads"),
        ("bench/workloads.json", "[1]", r"\$\[0\]"),
        ("bench/workloads.json", "3", "bench/workloads.json does not have the values"),
        ("bench/workloads.json", '{"deep": DEEP', "bench/workloads.json is no JSON"),
    ],
)
def test_an_odd_folder_of_kernel_pilot_is_refused(tmp_path: Path, path: str, text: str, told: str) -> None:
    folder = written(tmp_path / "a", {**pilot.STANDALONE, path: text.replace("DEEP", DEEP)})
    with pytest.raises(ImportRefused, match=told):
        bring(folder, tmp_path / "b", "one", Answers())


@pytest.mark.parametrize("text", ["3", "[1]", "null", "{", "DEEP"])
def test_an_odd_configuration_is_refused(tmp_path: Path, text: str) -> None:
    files = {"task.md": "Optimize `plan.json`.\n", "benchmark.py": gym.PLAN, "plan.json": text.replace("DEEP", DEEP)}
    with pytest.raises(ImportRefused, match=r"plan\.json"):
        bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers())


def test_a_program_too_deep_to_read_is_refused(tmp_path: Path) -> None:
    files = {"tune.py": "from kernel_tuner import tune_kernel\ntune_kernel(" + "-" * 200_000 + "1)\n"}
    with pytest.raises(ImportRefused, match=r"tune\.py is no Python"):
        bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers())


def test_a_makefile_without_a_target_is_refused(tmp_path: Path) -> None:
    files = {"b.c": '#include <benchmark/benchmark.h>\n#include "k.h"\n', "k.h": "", "Makefile": ".PHONY: all\n"}
    with pytest.raises(ImportRefused, match="Makefile has no target"):
        bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers())
