"""A workspace's files as people never meant them: each is refused by name, and the rest of the workspace goes on."""

from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.daemon.watcher import survey_tasks
from kpd.workspace.paths import Workspace

ENDLESS = "9" * 5000
RATE = """\
[task]
name = "rate"
language = "command"
editable = ["kernel.py"]
[bench]
command = "python3 bench.py"
direction = "higher"
score = "rate"
[check]
command = "python3 check.py"
"""


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workspace:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    assert main(["init", str(tmp_path / "ws")]) == 0
    capsys.readouterr()
    return Workspace.find(tmp_path / "ws")


def task(ws: Workspace, name: str, text: str) -> Path:
    folder = ws.tasks / name
    folder.mkdir()
    path = folder / "task.toml"
    path.write_text(text)
    return path


def test_a_number_without_end_in_a_task_leaves_the_other_tasks_as_they_are(
    ws: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = task(ws, "wide", f'[task]\nname = "wide"\n[tune]\nTILE = [{ENDLESS}]\n')
    assert main(["-w", str(ws.root), "task", "list"]) == 0
    told = capsys.readouterr().out
    assert f"{path}:4: not TOML: a number with too many digits" in " ".join(told.split())
    assert "transpose_cpu" in told
    assert main(["-w", str(ws.root), "task", "check", "wide"]) != 0
    ws.make_private()
    with EventStore(ws.store) as store:
        journal = EventJournal(store)
        survey_tasks(ws, journal)
        assert "too many digits" in journal.state.tasks["wide"].error
        assert journal.state.tasks["transpose_cpu"].error == ""


def test_a_task_that_is_refused_keeps_the_direction_of_its_scores(ws: Workspace) -> None:
    path = task(ws, "rate", RATE)
    for name in ("kernel.py", "bench.py", "check.py"):
        (path.parent / name).touch()
    ws.make_private()
    with EventStore(ws.store) as store:
        journal = EventJournal(store)
        survey_tasks(ws, journal)
        assert journal.state.tasks["rate"].error == ""
        path.write_text("[task")
        survey_tasks(ws, journal)
        card, seen = journal.state.tasks["rate"], journal.state.seq
        assert (bool(card.error), card.direction, card.score) == (True, "higher", "rate")
        survey_tasks(ws, journal)
        assert journal.state.seq == seen, "it is told once"


@pytest.mark.parametrize("number", [ENDLESS, f"0x{'f' * 5000}"], ids=["decimal", "hex"])
def test_a_number_without_end_in_the_config_is_one_line(
    ws: Workspace, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    ws.config.write_text(f"[run]\niterations = {number}\n")
    assert main(["-w", str(ws.root), "hosts", "add", "me@box", "--no-check"]) == 64
    told = capsys.readouterr().err
    assert f"{ws.config}:2: " in told
    assert told.endswith("; write a smaller number\n")


def test_an_empty_task_is_told_which_table_it_needs(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    path = task(ws, "empty", "")
    assert main(["-w", str(ws.root), "task", "check", "empty"]) != 0
    told = capsys.readouterr()
    words = " ".join((told.out + told.err).split())
    assert f"{path}: 'task' is missing" in words
    assert "write a table [task] with name, language, editable" in words
