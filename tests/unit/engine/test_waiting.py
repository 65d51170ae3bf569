"""What a run waits for, with a real journal: who may say it, and how often."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.waiting import WaitReporter, set_waiting
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.waits import ForLease, ForReply, Hold, Wait

ANSWER, ANOTHER = ForReply("/reply.md", "prompt.md"), ForReply("/other.md", "prompt.md")
DOWN = ForLease("local is down")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    journal = EventJournal(EventStore(tmp_path / "log.sqlite"))
    journal.emit(e.RunQueued("r1", "scale", "mailbox", "local", Budget()))
    journal.emit(e.RunStarted("r1", "a CPU", "local", "cpu"))
    yield journal
    journal.close()


def waiting(journal: EventJournal) -> Wait | None:
    return journal.state.runs["r1"].waiting


def test_what_was_forgotten_is_said_again_and_what_stands_is_not(journal: EventJournal) -> None:
    remind = WaitReporter(journal, "r1")
    remind(ANSWER)
    seen = journal.state.seq
    remind(ANSWER)
    assert journal.state.seq == seen
    set_waiting(journal, journal.state.runs["r1"], None)
    remind(ANSWER)
    assert waiting(journal) == ANSWER
    remind(ANOTHER)
    assert waiting(journal) == ANOTHER
    remind(None)
    assert waiting(journal) is None


def test_the_trouble_of_a_host_stays_until_it_is_over(journal: EventJournal) -> None:
    remind = WaitReporter(journal, "r1")
    remind(ANSWER)
    set_waiting(journal, journal.state.runs["r1"], DOWN)
    for reason in (ANSWER, ANOTHER, None):
        remind(reason)
        assert waiting(journal) == DOWN
    set_waiting(journal, journal.state.runs["r1"], None)
    remind(ANOTHER)
    assert waiting(journal) == ANOTHER


def test_a_log_that_takes_nothing_is_tried_once(
    journal: EventJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Hold] = []
    suspend = journal.suspend

    def counted(reason: Hold) -> None:
        told.append(reason)
        suspend(reason)

    monkeypatch.setattr(journal, "suspend", counted)
    remind = WaitReporter(journal, "r1")
    (tmp_path / "log.sqlite").unlink()
    for _ in range(3):
        remind(ANSWER)
    assert len(told) == 1 and journal.state.held
