"""What a run waits for, with a real journal: who may say it, and how often."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.daemon.journal import Journal
from kpd.daemon.store import Store
from kpd.engine.waiting import Reminder, tell
from kpd.model import events as e
from kpd.model.nouns import Budget


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(Store(tmp_path / "log.sqlite"))
    journal.emit(e.RunQueued("r1", "scale", "mailbox", "local", Budget()))
    journal.emit(e.RunStarted("r1", "a CPU", "local", "cpu"))
    yield journal
    journal.close()


def waiting(journal: Journal) -> str:
    return journal.state.runs["r1"].waiting


def test_what_was_forgotten_is_said_again_and_what_stands_is_not(journal: Journal) -> None:
    remind = Reminder(journal, "r1")
    remind("for an answer")
    seen = journal.state.seq
    remind("for an answer")
    assert journal.state.seq == seen
    tell(journal, journal.state.runs["r1"], "")
    remind("for an answer")
    assert waiting(journal) == "for an answer"
    remind("for another answer")
    assert waiting(journal) == "for another answer"
    remind("")
    assert waiting(journal) == ""


def test_the_trouble_of_a_host_stays_until_it_is_over(journal: Journal) -> None:
    remind = Reminder(journal, "r1")
    remind("for an answer")
    tell(journal, journal.state.runs["r1"], "local is down")
    for reason in ("for an answer", "for another answer", ""):
        remind(reason)
        assert waiting(journal) == "local is down"
    tell(journal, journal.state.runs["r1"], "")
    remind("for another answer")
    assert waiting(journal) == "for another answer"


def test_a_log_that_takes_nothing_is_tried_once(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    suspend = journal.suspend

    def counted(reason: str) -> None:
        told.append(reason)
        suspend(reason)

    monkeypatch.setattr(journal, "suspend", counted)
    remind = Reminder(journal, "r1")
    (tmp_path / "log.sqlite").unlink()
    for _ in range(3):
        remind("for an answer")
    assert len(told) == 1 and journal.state.held
