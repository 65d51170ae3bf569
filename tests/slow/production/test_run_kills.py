"""kill -9 of `kpd project run` in each of its phases: the next call goes on, and makes no task and no run twice."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kpd.workspace.paths import Workspace
from kpd.workspace.rows import rows_of
from tests.places import OPEN
from tests.support.daemon.real_daemon import RealDaemon
from tests.support.measure.cuda_driver import NVCC
from tests.support.onboarding.kernels import GOOD, fenced, sources
from tests.support.patience import PATIENCE_S

SOON_S = 0.03
"""After that the run is mostly queued, and its id not noted yet."""


def test_killed_in_each_phase_it_goes_on_and_makes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(NVCC).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    root, found = tmp_path / "program", sources(tmp_path / "program")
    (root / "prog").touch()
    (tmp_path / "ws" / "tasks").mkdir(parents=True)
    ws = Workspace(tmp_path / "ws")
    ws.config.write_text(
        f'[hosts.local]\n{OPEN}\n[project.p]\nhost = "local"\nroot = "{root}"\nfiles = ["row_scale.cu"]\n'
        'context = ["host.cu"]\nbinary = ["prog"]\nbuild_dir = "out"\nbuild = "true"\nrun = "./prog"\n'
        'kernel = "row_scale"\noutputs = ["result"]\n'
    )
    rows, mailbox = ws.root / "refs" / "p.runs.jsonl", ws.root / "onboarding" / "p"
    daemon = RealDaemon(ws)

    def begun() -> "subprocess.Popen[str]":
        words = ["project", "run", "p", "--observed", str(found.observed), "--mailbox", "--agent", "operator"]
        command = [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def killed(reached: Callable[[list[dict[str, Any]]], bool]) -> None:
        before = len(list(rows_of(rows))) if rows.exists() else 0
        process = begun()
        daemon.until(lambda: rows.exists() and reached(list(rows_of(rows))[before:]), "the phase")
        time.sleep(SOON_S)
        process.kill()
        process.communicate()

    daemon.start()
    try:
        killed(lambda new: any(row.get("begins") == "check" for row in new))
        killed(lambda new: (mailbox / "prompt.md").exists())
        (mailbox / "reply.md").write_text(fenced(GOOD))
        killed(lambda new: any(row.get("begins") == "run" for row in new))
        ended = begun()
        told, said = ended.communicate(timeout=PATIENCE_S)
        assert (ended.returncode, told) == (0, "r1\n"), said
        assert [path.name for path in ws.tasks.iterdir() if not path.name.startswith(".")] == ["p"]
        assert list(daemon.query("status")["runs"]) == ["r1"]
        assert sorted(path.name for path in mailbox.iterdir()) == ["prompt.md", "reply.md"]
    finally:
        daemon.stop()
