"""A workspace for `kpd doctor`."""

from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.workspace.paths import Workspace
from tests.support.hosts.installs import install as install


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workspace:
    """A fresh workspace, whose host "local" keeps its locks in the test's own folder."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert main(["init", str(tmp_path / "ws")]) == 0
    capsys.readouterr()
    found = Workspace.find(tmp_path / "ws")
    found.config.write_text(f'[hosts.local]\nleases = "{tmp_path / "leases"}"\n')
    return found
