"""A real daemon is asked what the devices of its hosts do: nothing of it is in the log, nothing is asked twice."""

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.hosts.glance import APPS, BUSY, GPU
from tests.support.hosts.local import linux_only

__all__ = ["daemon", "workspace"]

PROBED = f"0, {GPU}, 00000000:17:00.0, NVIDIA H200, 9.0, 143771, 580.159.04, Enabled, Disabled"


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with one GPU, by an nvidia-smi that counts how often it is asked what that does. The file of counts."""
    asked = tmp_path / "asked"
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh
case "$1" in
  --query-gpu=index,*) echo '{PROBED}' ;;
  --query-gpu=uuid,*) echo asked >>'{asked}'; echo '{BUSY}' ;;
  --query-compute-apps=gpu_uuid,*) echo '{APPS}' ;;
esac
"""
    )
    program.chmod(0o755)
    asked.touch()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return asked


@linux_only
def test_what_the_devices_do_is_told_on_demand_and_kept_nowhere(
    daemon: RealDaemon, workspace: Workspace, gpu: Path, tmp_path: Path
) -> None:
    leases = tmp_path / "leases"
    workspace.config.write_text(f'[hosts.local]\ntransport = "local"\nleases = "{leases}"\n')
    daemon.start()
    card = daemon.until(lambda: daemon.query("status")["hosts"].get("local", {}).get("devices"), "the probe")
    seen = {device["id"]: device["telemetry"] for device in card}
    assert seen[GPU]["sm_mhz"] == 1980, "a look is part of the probe"
    assert seen[GPU]["computes"][0]["name"] == "python3"

    events, times = len(daemon.events()), len(gpu.read_text().splitlines())
    leases.mkdir(exist_ok=True)
    with (leases / "cpu.lock").open("w") as lock:
        json.dump({"token": 1, "holder": "op@lab, r9.1", "pid": os.getpid(), "since": time.time()}, lock)
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        (look,) = daemon.query("glance", host="local")
    assert look["host"] == "local"
    assert look["devices"]["cpu"]["holder"] == "op@lab, r9.1"
    assert look["devices"][GPU]["power_w"] == 118.3
    assert daemon.query("glance")[0]["devices"]["cpu"]["holder"] == ""
    assert len(gpu.read_text().splitlines()) == times + 2
    assert len(daemon.events()) == events, "who watches leaves nothing in the log"
    for args in ({"host": "nowhere"}, {"hots": "local"}, {"host": []}):
        with pytest.raises(DaemonError):
            daemon.query("glance", **args)
