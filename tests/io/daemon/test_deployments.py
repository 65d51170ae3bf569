"""What the daemon reads of the journals that commands keep: each event once, and a process that is gone."""

import os
from pathlib import Path

import pytest

from kpd.daemon.deployments import DeploymentReader
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.paths import Workspace
from tests.support.daemon.timers import armed


async def test_each_phase_that_lasts_the_end_and_a_lost_process_become_events(tmp_path: Path) -> None:
    journal = EventJournal(EventStore(tmp_path / "events.db"))
    reader = DeploymentReader(Workspace(tmp_path), journal)
    reader.look()  # nothing was ever deployed
    kept = DeploymentJournal(tmp_path / "deployments" / "p")
    with kept.locked():
        opened = kept.begin("r1", 3, "ada", "abcd")
        reader.look()
        opened.begins("build")
        reader.look()
        opened.ends("build", wall_us=7.0)
        reader.look()
    reader.look()
    with kept.locked():
        opened.close(state="rolled_back", cause="cut")
    reader.look()
    opened.note(remembered=True)
    DeploymentReader(Workspace(tmp_path), journal).look()  # of the next daemon
    reader.close()
    seen = [event.fact.card for event in journal.events() if isinstance(event.fact, e.DeploymentSeen)]
    assert [(one.deployment.phase, one.deployment.state, one.cut) for one in seen] == [
        (None, "open", False), ("build", "open", False), ("build", "open", True), ("build", "rolled_back", False),
    ]  # fmt: skip
    assert journal.state.deployments == {"p#1": seen[-1]}
    journal.close()


async def test_what_nobody_can_read_is_left_out_and_all_else_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workspace, journal = Workspace(tmp_path), EventJournal(EventStore(tmp_path / "events.db"))
    kept = DeploymentJournal(workspace.deployments / "p")
    kept.begin("r1", 3, "ada", "a").close(state="refused", cause="forbidden", about='#pragma message "\udcff"')
    for name, row in (
        ("0002", '{"state": "somewhere\\u001b"}'),
        ("0003", '{"iteration": 1e99}'),
        ("0001 copy", "{}"),
    ):
        (kept.folder / f"{name}.jsonl").write_text(f"{row}\n")
    kept.begin("r1", 4, "ada", "b")
    with (kept.folder / "0004.jsonl").open("a") as rows:
        rows.write('[]\n{"about": "\\udcff"}\n{"number": 7}\n{"about": ' + "[" * 100_000 + "\n")
    os.mkfifo(kept.folder / "0005.jsonl")
    (kept.folder / "0006.jsonl").mkdir()
    for name in ("no project", "a-fifo"):
        (workspace.deployments / name).mkdir()
    os.mkfifo(workspace.deployments / "a-fifo" / "lock")
    DeploymentJournal(workspace.deployments / "no project").begin("r1", 9, "ada", "c")
    DeploymentJournal(workspace.deployments / "q").begin("r1", 5, "ada", "d")
    reader = DeploymentReader(workspace, journal)
    reader.look()
    reader.close()
    cards = journal.state.deployments
    assert [(key, card.deployment.iteration) for key, card in cards.items()] == [("p#1", 3), ("p#4", 4), ("q#1", 5)]
    assert cards["p#1"].deployment.about == '#pragma message "?"'
    assert (kept.next_number, caplog.text.count("is left out"), "\x1b" in caplog.text) == (7, 4, False)
    journal.close()


async def test_it_looks_again_until_the_log_has_taken_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EventStore(tmp_path / "events.db")
    journal, again = EventJournal(store), armed(monkeypatch, DeploymentReader)
    DeploymentJournal(tmp_path / "deployments" / "p").begin("r1", 3, "ada", "a").close(state="deployed")
    store.path.rename(tmp_path / "elsewhere")
    reader = DeploymentReader(Workspace(tmp_path), journal)
    reader.look()
    assert (journal.state.held is None, again()) == (False, 1)
    (tmp_path / "elsewhere").rename(store.path)
    reader.look()
    assert (list(journal.state.deployments), again()) == (["p#1"], 0)
    journal.close()
