"""kpd queue without a daemon: what the log has, and that nobody works on it."""

from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.workspace.paths import Workspace


def test_a_run_that_nobody_works_on_is_shown_with_the_word_that_no_daemon_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "config.toml").touch()
    ws = Workspace.find(tmp_path)
    ws.make_private()
    with EventStore(ws.store) as store:
        journal = EventJournal(store)
        journal.emit(e.DaemonStarted("0.1.0", 77, str(ws.root)))
        journal.emit(e.RunQueued("r1", "scale", "sweep", "local", Budget()))
        journal.emit(e.RunStarted("r1", "cpu"))
    assert main(["-w", str(ws.root), "queue"]) == 0
    told = capsys.readouterr()
    assert "r1" in told.out
    assert told.err == "○ no daemon; kpd start, or kpd daemon to keep it in the foreground\n"
    assert main(["-w", str(ws.root), "queue", "--json"]) == 0
    assert capsys.readouterr().err == ""
