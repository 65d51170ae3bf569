"""A workspace's folder for the verbs that need no daemon."""

from pathlib import Path

import pytest

from kpd.cli.main import main


@pytest.fixture
def root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["init", str(tmp_path / "ws")]) == 0
    capsys.readouterr()
    return (tmp_path / "ws").resolve()
