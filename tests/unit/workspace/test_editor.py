"""The operator's editor from the environment, and what `kpd edit` says where that names none."""

import pytest

from kpd.workspace.environment import editor
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
