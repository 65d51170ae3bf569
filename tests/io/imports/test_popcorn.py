"""Problems of reference-kernels differ in how their evaluators time, and in where the programs lie that they share."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.imports.bringing import Brought, bring
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused
from kpd.workspace.task import load_task
from tests.support.imports.folders import written

YML = """\
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: utils.py, source: ../../common/utils.py}
  - {name: reference.py, source: reference.py}
  - {name: eval.py, source: ../eval.py}
tests: [{size: 3}]
benchmarks: [{size: 4}]
"""
EVAL = """\
import os, sys
said = os.fdopen(int(os.environ["POPCORN_FD"]), "w")
if sys.argv[1] not in ("test", "{mode}"):
    sys.exit(2)
said.write("benchmark-count: 1\\nbenchmark.0.mean: 3e3\\ncheck: {check}\\nerror: no device is there\\n")
sys.exit({status})
"""
FILES = {
    "sets/linalg/one/task.yml": YML,
    "sets/linalg/one/reference.py": "def ref_kernel(data):\n    return data\n",
    "sets/linalg/eval.py": EVAL.format(mode="private", check="pass", status=0),
    "sets/common/utils.py": "shared = True\n",
}


def brought(tmp_path: Path, **changed: str) -> Brought:
    files = FILES | {path: text for path in FILES for name, text in changed.items() if path.endswith(f"{name}")}
    folder = written(tmp_path / "a", files) / "sets" / "linalg" / "one"
    return bring(folder, tmp_path / "b", "one", Answers())


def run(found: Brought) -> dict[str, object]:
    command = [sys.executable, "kpd_bench.py", "benchmark"]
    done = subprocess.run(command, cwd=found.folder, capture_output=True, text=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("mode", ["private", "benchmark"])
def test_the_mode_that_times_is_the_evaluators_own(tmp_path: Path, mode: str) -> None:
    found = brought(tmp_path, **{"eval.py": EVAL.format(mode=mode, check="pass", status=0)})
    assert run(found)["best_us"] == pytest.approx(3.0)


def test_programs_of_a_folder_beside_the_one_above_are_taken_and_told(tmp_path: Path) -> None:
    found = brought(tmp_path)
    assert (found.folder / "utils.py").read_text() == "shared = True\n"
    told = "task.yml takes of the folders above: ../../common/utils.py, ../eval.py"
    assert told in found.draft.assumed


@pytest.mark.parametrize("source", ["../../../common/utils.py", "../../common/more/utils.py", "../../common/key.pem"])
def test_nothing_further_away_is_taken(tmp_path: Path, source: str) -> None:
    with pytest.raises(ImportRefused, match="names the source"):
        brought(tmp_path, **{"task.yml": YML.replace("../../common/utils.py", source)})


def test_a_link_beside_the_folder_above_leads_nowhere(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret", {"utils.py": "key = 1\n"})
    (written(tmp_path / "a", {"sets/linalg/x.py": ""}) / "sets" / "other").symlink_to(secret)
    with pytest.raises(ImportRefused, match="is a link that leads out"):
        brought(tmp_path, **{"task.yml": YML.replace("common", "other")})


def test_without_a_kernel_to_call_the_first_right_one_is_the_baseline(tmp_path: Path) -> None:
    found = brought(tmp_path, **{"reference.py": "def reference_forward(data):\n    return data\n"})
    task = load_task(found.folder)
    assert (task.baseline, (found.folder / "submission.py").exists()) == ("absent", False)
    assert "there is no submission.py, and no ref_kernel: the first right one is the baseline" in found.draft.assumed


def test_cases_of_several_processes_are_for_several_gpus(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="several GPUs"):
        brought(tmp_path, **{"task.yml": YML.replace("{size: 4}", "{size: 4, world_size: 8}")})


def test_what_an_evaluator_says_of_no_case_is_told(tmp_path: Path) -> None:
    found = brought(tmp_path, **{"eval.py": EVAL.format(mode="benchmark", check="fail", status=112)})
    assert run(found) == {"ok": False, "errors": ["error: no device is there"]}
