"""Profiles on a GPU in whole runs of a real daemon. The machine's GPU and ncu are stand-ins; the rest is real."""

from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.client import DaemonError
from kpd.profile.ncu.read import has_reader
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.profile.ncu_reports import BASELINE_US, CASES, on_path, recorded, stand_in

__all__ = ["daemon", "workspace"]

ID = "GPU-0d3c94d2-0000-0000-0000-000000000000"
SMI = f"""#!/bin/sh
case "$*" in *--query-gpu*)
  echo "0, {ID}, 00000000:01:00.0, NVIDIA H100, 9.0, 81559, 575.57, Enabled, Disabled"
esac
"""
TASK = """
[task]
name = "transpose"
language = "command"
editable = ["kernel.py"]
[bench]
command = "python3 benchmark.py"
[need]
device = "gpu"
"""
BENCHMARK = f"""
import json, kernel
times = dict(zip({CASES}, {BASELINE_US}))
cases = [{{"name": name, "us": us, "device_us": us - 3}} for name, us in times.items()]
print(json.dumps({{"ok": True, "best_us": sum(times.values()), "cases": cases}}))
"""


@pytest.fixture
def gpu(tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stand-ins, and a task that asks for a GPU."""
    folder = tmp_path / "bin"
    stand_in(folder)
    (folder / "nvidia-smi").write_text(SMI)
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", on_path(folder))
    task = workspace.tasks / "transpose"
    task.mkdir()
    for name, text in (("task.toml", TASK), ("benchmark.py", BENCHMARK), ("kernel.py", "TILE = 32\n")):
        (task / name).write_text(text)
    return folder


@pytest.mark.skipif(not has_reader(), reason="ncu-report, the extra `ncu`, is not installed")
def test_a_run_has_counters_and_advice_and_a_profile_in_full_on_demand(
    gpu: Path, daemon: RealDaemon, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.start()
    daemon.command("run", task="transpose")
    daemon.until_event("run_ended")
    folder = workspace.iteration_folder("transpose", "r1", 0)
    assert (folder / "report.ncu-rep").read_bytes() == recorded("baseline.ncu-rep")
    profiled = daemon.query("show", iteration="r1.0")["detail"]["profiled"]
    assert profiled["metrics"]["sectors_per_store"] == pytest.approx(32, rel=0.01)
    assert any(piece["agrees"] == "uncoalesced_store" for piece in profiled["advice"])
    bottleneck = daemon.query("show", iteration="r1.0")["detail"]["explained"]["bottleneck"]
    assert "L2 at 84 %" in bottleneck

    before = len(daemon.events())
    (gpu / "report").write_bytes(recorded("baseline_full.ncu-rep"))
    assert main(["-w", str(workspace.root), "show", "r1.0", "--profile", "full"]) == 0
    said = capsys.readouterr().out
    assert "memory bound: L2 at 8" in said
    assert "✓ uncoalesced_store" in said
    assert "report_full.ncu-rep, metrics_full.json" in said
    assert (folder / "report_full.ncu-rep").read_bytes() == recorded("baseline_full.ncu-rep")
    assert "--set full" in (gpu / "asked").read_text().splitlines()[-1]
    assert len(daemon.events()) == before, "what the run has found does not change"

    (gpu / "refusal").write_text("==ERROR== ERR_NVGPUCTRPERM")
    with pytest.raises(DaemonError, match="denied the GPU's counters"):
        daemon.command("profile", iteration="r1.0")


def test_a_profile_in_full_is_refused_where_there_is_none(daemon: RealDaemon) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    daemon.until_event("run_ended")
    with pytest.raises(DaemonError, match="measured on a CPU: its profile is all there is"):
        daemon.command("profile", iteration="r1.0")
    with pytest.raises(DaemonError, match="no iteration 9"):
        daemon.command("profile", iteration="r1.9")
