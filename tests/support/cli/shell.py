"""Commands typed in a folder of somebody who has no workspace yet."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.support.daemon.forked import run_kpd


class Shell:
    """Commands typed in one folder, without a terminal; no daemon of theirs outlives it."""

    def __init__(self, folder: Path, runtime: str, source: Path = ROOT) -> None:
        self.folder = folder
        self.source = source
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("KPD_", "GIT_"))}
        self.env |= {"PYTHONPATH": str(source), "XDG_RUNTIME_DIR": runtime}

    def popen(self, *args: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            args, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, *args: str) -> "subprocess.CompletedProcess[str]":
        process = self.popen(*args)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def kpd(self, *args: str) -> "subprocess.CompletedProcess[str]":
        if self.source != ROOT:  # another copy of kpd
            return self(sys.executable, "-m", "kpd.cli.main", *args)
        return run_kpd(*args, env=self.env, folder=self.folder)


@pytest.fixture
def runtime() -> Iterator[str]:
    """Where sockets lie: a path that is short enough for one."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kpd") as folder:
        yield folder


@pytest.fixture
def here(tmp_path: Path, runtime: str) -> Iterator[Shell]:
    folder = tmp_path / "foo"
    folder.mkdir()
    shell = Shell(folder, runtime)
    yield shell
    shell.kpd("shutdown", "--now")
