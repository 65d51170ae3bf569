"""A folder with a benchmark of its own may be measured by kpd's driver: then that benchmark is a second opinion."""

import subprocess
import sys
from pathlib import Path

import pytest

from kpd.imports.bringing import Brought, bring
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused
from kpd.workspace.task import load_task
from tests.support.imports import harnessgym as gym, pilot
from tests.support.imports.folders import written

KERNEL = """\
#include "moe.h"
void scale(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] + extra(); }
"""
FILES = {
    "task.md": "Optimize `moe.c` and `more.c` for the lowest `best_us`, with `plan.json`.\n",
    "moe.c": KERNEL, "moe.h": "float extra(void);\n", "more.c": "float extra(void) { return 1; }\n", "plan.json": "{}",
    "benchmark.c": "int main(void) { return 0; }\n",
    "benchmark.py": """\
import json, os, sys  # --json --mode "dev" "final"
assert not os.path.exists("kernel.c") or "judge" not in open("benchmark.c").read()
right = "x[i] + extra()" in open("moe.c").read()
open("results/log", "w").write("")
print(json.dumps({"status": "passed" if right else "failed", "best_us": 3.0, "mode": sys.argv[-1]}))
sys.exit(0 if right else 1)
""",
    "results/old.json": "{}",
}  # fmt: skip
KPD = Answers(measured_by="kpd")


def brought(tmp_path: Path, files: dict[str, str], answers: Answers = KPD) -> Brought:
    return bring(written(tmp_path / "a", files), tmp_path / "b", "one", answers)


def test_a_folder_of_harnessgym_by_kpds_own_driver(tmp_path: Path) -> None:
    found = brought(tmp_path, FILES)
    task = load_task(found.folder)
    assert (task.language, task.bench.command, task.records) == ("c", None, ())
    assert task.editable == ("kernel.c", "more.c", "build.json")
    assert set(task.protected) == {
        "benchmark.c", "benchmark.py", "harness.c", "kpd_second.py", "moe.h", "plan.json", "task.md", "task.toml",
    }  # fmt: skip
    assert "not editable, as kpd's own driver does not use it: plan.json" in found.draft.assumed


def test_its_benchmark_is_asked_about_a_candidate_by_hand(tmp_path: Path) -> None:
    folder = brought(tmp_path, FILES).folder
    bad = written(
        tmp_path / "bad", {"kernel.c": KERNEL.replace("x[i] + extra()", "0"), "benchmark.py": "print('{}')\n"}
    )

    def asked(*words: str) -> tuple[int, list[str]]:
        command = [sys.executable, str(folder / "kpd_second.py"), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    status, lines = asked()
    assert (status, len(lines)) == (0, 4), lines
    assert lines[0] == "$ python3 benchmark.py --json --mode dev"
    assert '"status": "passed"' in lines[1]
    assert '"mode": "final"' in lines[3]
    status, lines = asked(str(bad))
    assert (status, lines[2]) == (1, "it ended with 1"), lines
    assert '"status": "failed"' in lines[1]


def test_a_kernel_in_a_folder_of_its_own(tmp_path: Path) -> None:
    own = {path: text for path, text in pilot.PROMPT.items() if not path.startswith("src/")}
    sources = {"src/moe.c": KERNEL, "src/moe.h": FILES["moe.h"], "src/more.c": FILES["more.c"]}
    found = brought(tmp_path, own | sources)
    assert load_task(found.folder).editable == ("kernel.c", "more.c", "build.json")
    assert "PLACES = {'kernel.c': 'src/moe.c', 'more.c': 'src/more.c'}" in (found.folder / "kpd_second.py").read_text()
    assert (found.folder / "src" / "moe.h").read_text() == (found.folder / "moe.h").read_text()


@pytest.mark.parametrize(
    ("files", "answers", "why"),
    [
        (gym.FILES, KPD, "no function of C or C++ gets arrays in kernel.py"),
        ({**FILES, "moe.c": "", "more.c": ""}, KPD, "no function of C or C++ gets arrays in moe.c, more.c, plan.json"),
        (FILES, Answers(measured_by="kpd", check="sh check.sh"), "--check is about the folder's own benchmark"),
        (FILES, Answers(measured_by="kpd", baseline="wrong"), "--baseline is about the folder's own benchmark"),
        ({"19_P.py": "class Model:\n  def f(self): 0\ndef get_inputs(): 0\ndef get_init_inputs(): 0\n"},
         Answers(measured_by="folder"), "a folder of kernelbench has no benchmark"),
    ],
)  # fmt: skip
def test_who_cannot_measure_is_told(tmp_path: Path, files: dict[str, str], answers: Answers, why: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        brought(tmp_path, files, answers)
    assert why in str(refused.value)
    assert "leave out --" in refused.value.remedy


def test_without_an_answer_its_own_benchmark_measures(tmp_path: Path) -> None:
    assert (
        load_task(brought(tmp_path, FILES, Answers()).folder).bench.command == "python3 benchmark.py --json --mode dev"
    )
