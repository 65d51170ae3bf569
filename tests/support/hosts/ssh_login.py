"""Ways to log in: agents, options, ssh_config."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hosts.sshd import Sshd, ssh_config


@pytest.fixture(autouse=True)
def nobody_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the identities nor the agent of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    """A real ssh-agent's socket."""
    path = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    try:
        while subprocess.run(["ssh-add", "-l"], env={"SSH_AUTH_SOCK": str(path)}, capture_output=True).returncode == 2:
            assert process.poll() is None
        yield path
    finally:
        process.kill()
        process.wait()


def add(agent: Path, *keys: Path) -> None:
    subprocess.run(["ssh-add", "-q", *keys], env={"SSH_AUTH_SOCK": str(agent)}, check=True, capture_output=True)


def options(server: Sshd, **more: object) -> dict[str, object]:
    """A server's block without its identity."""
    kept = {key: value for key, value in server.host_options.items() if not key.startswith("Identit")}
    return kept | more


def config(server: Sshd, tmp_path: Path, **more: object) -> Path:
    return ssh_config(tmp_path / "config", box=options(server, **more))
