"""A project from which `kpd task new` brings in a kernel."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon.forked import run_kpd
from tests.support.measure.cuda_driver import NVCC
from tests.support.onboarding.kernels import Sources, sources


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Sources:
    workspace = tmp_path / "ws"
    (workspace / "tasks").mkdir(parents=True)
    (workspace / "config.toml").write_text("")
    return sources(tmp_path / "project")


def kpd(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The stand-in is its nvcc."""
    clean = {"PATH": f"{Path(NVCC).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), **env}
    return run_kpd("-w", str(folder / "ws"), "task", "new", *words, env=clean)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "ws" / "tasks").iterdir())
