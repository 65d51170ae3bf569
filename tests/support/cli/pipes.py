"""Runs a verb of kpd in a shell's pipe."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.support.patience import PATIENCE_S

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Run `kpd LINE` as a shell does, redirections and all, in a workspace that no daemon serves."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("KPD_")}
    env |= {"PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": ""}
    (tmp_path / "ws" / "tasks").mkdir(parents=True)
    (tmp_path / "ws" / "config.toml").touch()

    def run(line: str) -> "subprocess.CompletedProcess[str]":
        command = f"{sys.executable} -m kpd.cli.main {line}"
        return subprocess.run(
            ["bash", "-c", command], cwd=tmp_path / "ws", env=env, capture_output=True, text=True, timeout=PATIENCE_S
        )

    return run
