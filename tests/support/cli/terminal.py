"""Runs kpd start and attach in a pseudo-terminal."""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.patience import PATIENCE_S


class Place:
    """A workspace with one small task, and the commands run in it."""

    def __init__(self, root: Path, runtime: str) -> None:
        self.ws = Workspace(root.resolve())
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("KPD_")}
        self.env |= {"PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": runtime, "TERM": "xterm-256color"}
        self.command = [sys.executable, "-m", "kpd.cli.main", "-w", str(self.ws.root)]

    def kpd(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self.command, *args],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def pid(self) -> int | None:
        pid: int | None = json.loads(self.kpd("status", "--json").stdout)["pid"]
        return pid


class Terminal:
    """A command on a pseudo-terminal of 100 by 30."""

    def __init__(self, place: Place, *args: str) -> None:
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [*place.command, *args], {**place.env, "COLUMNS": "100", "LINES": "30"})
        self.said = ""

    def until(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.said:
            assert time.monotonic() < deadline, self.said[-2000:]
            if select.select([self.end], [], [], 0.1)[0]:
                self.said += self._read()

    def _read(self) -> str:
        try:
            data = os.read(self.end, 65536)
        except OSError:  # Linux: the other end has closed
            data = b""
        assert data, f"it ended: {self.said[-2000:]}"
        return data.decode(errors="replace")

    def press(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    def code(self) -> int:
        """The exit code, once it has ended."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.end)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Place]:
    root = tmp_path / "ws"
    (root / "tasks").mkdir(parents=True)
    (root / "config.toml").touch()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kpd") as runtime:
        made = Place(root, runtime)
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        assert main(["-w", str(root), "task", "new", "axpy"]) == 0
        yield made
        made.kpd("shutdown", "--now")
