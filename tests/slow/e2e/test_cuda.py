"""A whole run of a CUDA task in one file, on a machine that passes for one with a GPU: a stand-in for nvcc runs the
kernels, a script answers as nvidia-smi does, and there is no ncu."""

import json
import os
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from tests.support.cassette import gpu_machine
from tests.support.daemon.real_daemon import RealDaemon, daemon, set_local, workspace
from tests.support.measure.cuda_measured import LOOP, ROOFLINE_ONLY, TOML, task_folder

__all__ = ["daemon", "workspace"]


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on the PATH, and the task: of small cases, so that other work on the CPU disturbs few batches."""
    made = gpu_machine.machine(tmp_path / "real", without="ncu")
    limits = tmp_path / "bin"
    limits.mkdir()
    (limits / "nvcc").write_text(ROOFLINE_ONLY.format(nvcc=tmp_path / "real" / "nvcc"))
    (limits / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{limits}{os.pathsep}{made['PATH']}")
    gpu_machine.let_read(workspace)
    folder = task_folder(workspace.root, one_file=True, toml=TOML)
    text = (folder / "blend.cu").read_text()
    slower = text.replace(LOOP, f"for (volatile int r = 0; r < 20; r++) {{ {LOOP} }}").replace("20011", "4099")
    (folder / "blend.cu").write_text(slower)


def test_a_cuda_task_is_measured_and_only_its_kernel_section_may_change(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    file = workspace.tasks / "blend" / "blend.cu"
    slow = file.read_text()
    daemon.start()
    assert daemon.command("run", task="blend", agent="operator") == {"run": "r1"}
    daemon.until_event("folder_known")
    assert daemon.events("run_started")[0]["body"]["device_id"] == gpu_machine.UUID

    file.write_text(slow.replace("want[Y][i] = 2.0", "want[Y][i] = 3.0"))
    cheat = daemon.until_event("iteration_ended", iteration=1)["body"]
    assert (cheat["outcome"], cheat["reason"]) == ("rejected", "protected section: blend.cu")

    file.write_text(slow.replace("2.0f * x[i] + k", "2.0f * x[i] - k"))
    wrong = daemon.until_event("iteration_ended", iteration=2)["body"]
    assert wrong["outcome"] == "rejected"
    assert wrong["reason"].startswith("incorrect: ")

    quick = slow.replace("r < 20", "r < 1")
    file.write_text(quick.replace("// ===== HARNESS SECTION (do not modify) =====", "// ===== HARNESS SECTION ====="))
    better = daemon.until_event("iteration_ended", iteration=3)["body"]
    assert better["outcome"] == "accepted", better["reason"]
    assert not daemon.events("sanitizer_found"), "there is no compute-sanitizer"
    folder = workspace.iteration_folder("blend", "r1", 3)
    assert (folder / "candidate" / "blend.cu").read_text() == quick
    (case,) = json.loads((folder / "timing.json").read_text())["samples"][0]["cases"].values()
    assert case["warm"]["a_ns"]
    verdict = json.loads((folder / "verdict.json").read_text())
    rederived = daemon.query("rederive", iteration="r1.3")["rederived"]
    assert {key: value for key, value in rederived.items() if key != "reason"} == verdict
    timed = daemon.query("show", iteration="r1.3")["detail"]["timed"]["cases"]
    assert timed[0]["warm_us"] > 0


SANITIZER = """#!/bin/sh
[ "$1" != --version ] || exit 0
echo $2 >>{folder}/asked
while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
while [ ! -e {folder}/go ]; do sleep 0.05; done
for object; do :; done
"$@" || exit 8
if [ "$(tail -n 1 {folder}/asked)" = racecheck ] && grep -q hazardous "$object"; then
  echo "========= Error: Race reported between Write access at 0x460 in hazardous" >"$log"
  echo "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" >>"$log"
  exit 1
fi
if [ "$(tail -n 1 {folder}/asked)" = memcheck ] && grep -q straying "$object"; then
  echo "========= Invalid __global__ read of size 4 bytes" >"$log"
  echo "========= ERROR SUMMARY: 1 error" >>"$log"
  exit 1
fi
echo "========= ERROR SUMMARY: 0 errors" >"$log"
[ "$(tail -n 1 {folder}/asked)" != racecheck ] ||
  echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" >"$log"
"""


def test_a_winner_is_provisional_until_compute_sanitizer_has_seen_it(
    daemon: RealDaemon, workspace: Workspace, tmp_path: Path
) -> None:
    """The run goes on meanwhile, a daemon that is killed goes on with it, and one with a fault gives way."""
    tool = tmp_path / "bin" / "compute-sanitizer"
    tool.write_text(SANITIZER.format(folder=tmp_path))
    tool.chmod(0o755)
    set_local(workspace, writes=[str(tmp_path)])
    file = workspace.tasks / "blend" / "blend.cu"
    slow = file.read_text()

    def edited(loops: int, kernel: str) -> str:
        return slow.replace("r < 20", f"r < {loops}").replace("blended", kernel)

    daemon.start()
    daemon.command("run", task="blend", agent="operator")
    daemon.until_event("folder_known")
    file.write_text(edited(6, "blended"))
    assert daemon.until_event("iteration_ended", iteration=1)["body"]["outcome"] == "accepted"
    daemon.until(lambda: (tmp_path / "asked").exists(), "the first tool")
    run = daemon.query("status")["runs"]["r1"]
    assert run["best"]["sign"]["word"] == "provisional"
    assert run["headline"]["text"].endswith(", chained, provisional")
    assert run["best"]["sanitizer"] == "provisional until it has passed its last checks"

    daemon.kill()
    daemon.start()
    daemon.command("resume")
    (tmp_path / "go").touch()
    seen = daemon.until_event("sanitized", iteration=1)["body"]
    assert seen["fault"] is None
    assert [(one["tool"], one["cases"], one["of"]) for one in seen["reports"]] == [
        ("memcheck", 2, 2), ("initcheck", 2, 2), ("racecheck", 2, 2),
    ]  # fmt: skip
    assert (tmp_path / "asked").read_text().split() == ["memcheck", "initcheck", "racecheck"], "each once"
    assert daemon.query("status")["runs"]["r1"]["best"]["sign"]["word"] == "accepted"

    file.write_text(edited(2, "hazardous"))
    assert daemon.until_event("iteration_ended", iteration=2)["body"]["outcome"] == "accepted"
    told = daemon.until_event("sanitized", iteration=2)["body"]
    assert told["reports"][-1]["errors"] == 1
    assert (told["fault"]["kind"], told["fault"]["wrong"]["what"]["tool"]) == ("incorrect", "racecheck")
    gave_way = daemon.until_event("gave_way", unheld=2)["body"]
    assert (gave_way["iteration"], gave_way["why"]) == (1, "sanitizer")
    assert (tmp_path / "asked").read_text().split()[-2:] == ["racecheck", "racecheck"], "the baseline, too"

    file.write_text(edited(1, "straying"))
    assert daemon.until_event("iteration_ended", iteration=3)["body"]["outcome"] == "accepted"
    body = daemon.until_event("sanitized", iteration=3)["body"]
    assert body["message"] == (
        "incorrect: compute-sanitizer (memcheck): Invalid __global__ read of size 4 bytes (1 error)"
    )
    gave_way = daemon.until_event("gave_way", unheld=3)["body"]
    assert (gave_way["iteration"], gave_way["why"]) == (1, "sanitizer")
    found = daemon.query("show", iteration="r1.3")["iteration"]
    assert (found["outcome"], found["sign"]["word"], found["reason"]) == ("rejected", "incorrect", body["message"])
    assert file.read_text() == edited(6, "blended")
    assert (tmp_path / "asked").read_text().split()[-2:] == ["memcheck", "memcheck"], "the baseline, too"
    assert "rolled back: compute-sanitizer found a fault in it" in (workspace.memory / "blend.md").read_text()
