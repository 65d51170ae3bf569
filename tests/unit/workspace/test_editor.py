"""The operator's editor from the environment, and what `kpd edit` says where that names none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.workspace.editor import editor
from kpd.workspace.paths import WorkspaceError


@pytest.mark.parametrize(
    ("visual", "plain", "words"),
    [
        ("", "", ["vi"]),
        ("", "nano -w", ["nano", "-w"]),
        ("  ", "nano", ["nano"]),
        ("", "  ", ["vi"]),
        ("code --wait", "nano", ["code", "--wait"]),
        ("'/opt/my editor/ed' -x", "", ["/opt/my editor/ed", "-x"]),
    ],
)
def test_words(monkeypatch: pytest.MonkeyPatch, visual: str, plain: str, words: list[str]) -> None:
    monkeypatch.setenv("VISUAL", visual)
    monkeypatch.setenv("EDITOR", plain)
    assert editor() == words


@pytest.mark.parametrize(("name", "value"), [("VISUAL", "'vi"), ("EDITOR", "'vi")])
def test_what_is_no_editor_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv("VISUAL", "")
    monkeypatch.setenv(name, value)
    with pytest.raises(WorkspaceError, match=rf"^\${name} .*; set \$VISUAL or \$EDITOR to a program"):
        editor()


def test_kpd_edit_says_so_before_anything_is_copied(tmp_path: Path) -> None:
    env = {**os.environ, "VISUAL": "'vi", "TMPDIR": str(tmp_path / "copies")}
    (tmp_path / "copies").mkdir()
    (tmp_path / "config.toml").touch()
    (tmp_path / "tasks").mkdir()
    command = [sys.executable, "-m", "kpd.cli.main", "-w", str(tmp_path), "edit"]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 64
    assert "$VISUAL cannot be read: No closing quotation" in done.stderr
    assert "Traceback" not in done.stderr
    assert not any((tmp_path / "copies").iterdir())
