"""What the daemon reads of the journals that commands keep: each event once, and a process that is gone."""

from pathlib import Path

import pytest

from kpd.daemon.deployments import DeploymentReader
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.paths import Workspace


async def test_each_phase_that_lasts_the_end_and_a_lost_process_become_events(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
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
    broken = tmp_path / "deployments" / "q" / "0001.jsonl"
    broken.parent.mkdir()
    broken.write_text('{"state": "somewhere"}\n')
    reader.look()
    reader.close()
    seen = [event.fact.card for event in journal.events() if isinstance(event.fact, e.DeploymentSeen)]
    assert [(one.deployment.phase, one.deployment.state, one.cut) for one in seen] == [
        (None, "open", False), ("build", "open", False), ("build", "open", True), ("build", "rolled_back", False),
    ]  # fmt: skip
    assert "the deployments in" in caplog.text
    assert journal.state.deployments == {"p#1": seen[-1]}
    journal.close()
