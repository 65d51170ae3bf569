"""A whole run of a CUDA task in one file, on a machine that passes for one with a GPU: a stand-in for nvcc runs the
kernels, a script answers as nvidia-smi does, and there is no ncu."""

import json
import os
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from tests.support.cassette import gpu_machine
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
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
    folder = workspace.iteration_folder("blend", "r1", 3)
    assert (folder / "candidate" / "blend.cu").read_text() == quick
    (case,) = json.loads((folder / "timing.json").read_text())["samples"][0]["cases"].values()
    assert case["warm"]["a_ns"]
    verdict = json.loads((folder / "verdict.json").read_text())
    rederived = daemon.query("rederive", iteration="r1.3")["rederived"]
    assert {key: value for key, value in rederived.items() if key != "reason"} == verdict
    timed = daemon.query("show", iteration="r1.3")["detail"]["timed"]["cases"]
    assert timed[0]["warm_us"] > 0
