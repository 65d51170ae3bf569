"""Runs kpd's verbs in a workspace whose known hosts are a file of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.daemon.forked import run_kpd
from tests.support.hosts.sshd import Sshd, sshd

MINE = b"# mine, and it stays\n[run]\niterations = 3   # few\n\n[hosts.old]\ntransport = 'ssh'\naddress = 'me@old'\n"
Kpd = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    root = tmp_path / "ws"
    (root / "tasks").mkdir(parents=True)
    (root / ".kpd").mkdir(mode=0o700)
    (root / "config.toml").write_bytes(MINE)
    return Workspace.find(root)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Sshd]:
    """A host whose key nobody knows yet; what it keeps for kpd lies in the test's own folder."""
    with sshd(tmp_path / "far", SetEnv=f"HOME={tmp_path / 'far'}") as server:
        server.known_hosts.unlink()
        yield server


@pytest.fixture
def at_home(tmp_path: Path, ws: Workspace, box: Sshd) -> Kpd:
    """Run `kpd hosts ARGS` with a home whose ssh configuration names the box; `answer` is typed on a terminal."""
    ssh = tmp_path / "home" / ".ssh"
    ssh.mkdir(parents=True)
    (ssh / "config").write_text(box.config.read_text())
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(ssh.parent), "SSH_AUTH_SOCK": ""}

    def run(*args: str, answer: str = "") -> "subprocess.CompletedProcess[str]":
        if not answer:
            return run_kpd("-w", str(ws.root), *args, env=env)
        command = [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), *args]
        near, far = os.openpty()
        try:
            os.write(near, answer.encode())
            done = subprocess.run(
                command, env=env, text=True, timeout=60, stdin=far, stdout=subprocess.PIPE, stderr=far
            )
            done.stderr = os.read(near, 1 << 16).decode()
        finally:
            os.close(near)
            os.close(far)
        return done

    return run


def fingerprint(box: Sshd) -> str:
    said = subprocess.run(["ssh-keygen", "-lf", f"{box._host_key}.pub"], capture_output=True, text=True, check=True)
    return said.stdout.split()[1]
