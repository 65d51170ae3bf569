"""Every word of `kpd tools` at the command line, against a real daemon: a server, and a skill that points at it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.tools.built import SKILL, server_tool, write_tool

__all__ = ["daemon", "workspace"]
Kpd = Callable[..., str]
POINTS = {**SKILL, "SKILL.md": "# Loops\n\nCount words with `word-count` first:\nthen move the work out.\n"}


@pytest.fixture
def kpd(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Kpd:
    """Run `kpd tools ARGS`, and return what it says."""

    def run(*args: str, code: int = 0) -> str:
        ended = main(["-w", str(workspace.root), "tools", *args])
        told = capsys.readouterr()
        assert ended == code, told
        return told.out + told.err

    return run


def test_every_word_of_kpd_tools(daemon: RealDaemon, workspace: Workspace, tmp_path: Path, kpd: Kpd) -> None:
    both = tmp_path / "both"
    write_tool(both / "notes", POINTS)
    write_tool(both / "words", server_tool())
    daemon.start()
    told = kpd("import", str(both), "--task", "scale")
    assert told.count("is qualified") == 2
    one = next(found["shown"] for found in json.loads(kpd("list", "--json")) if found["tool"] == "word-count")
    assert "server    count" in kpd("show", "word-count")
    assert "is qualified" in kpd("qualify", "word-count")
    told = kpd("quarantine", "word-count", "--why", "it is slow")
    assert f"{one} is quarantined; sessions get no version of it, nor loop-notes@" in told
    assert "which pointed at it" in told
    assert "(quarantined: it is slow)" in kpd("show", one)
    assert "(withheld: it points at word-count, which no session may get)" in kpd("show", "loop-notes")
    assert "word-count" in kpd("qualify", one, code=1), "restore it first"
    kpd("export", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    assert "is qualified again" in kpd("restore", "word-count")
    assert {found["state"] for found in json.loads(kpd("list", "--json"))} == {"qualified"}
    kpd("export", str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["loop-notes", "word-count"]
    assert "is retired; sessions get no version of it" in kpd("retire", "loop-notes")
    assert "retired already" in kpd("retire", "loop-notes", code=1)
    assert "is there already, and retired" in kpd("import", str(both / "notes"), "--task", "scale", code=1)
    broken = write_tool(tmp_path / "broken", server_tool(name="broken", self_test="gone"))
    told = kpd("import", str(broken), "--task", "scale", code=1)
    assert "is quarantined" in told and "no such file: gone" in told
