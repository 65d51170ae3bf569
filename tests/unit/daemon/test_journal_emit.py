"""The journal: durable, then folded, then told; and a restart that finds the same state."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kpd.daemon import journal as journal_module
from kpd.daemon.journal import LIVE_CHARACTERS, EventJournal, Message, load_state
from kpd.daemon.store import EventStore, StoreError
from kpd.messages import Live
from kpd.model import events as e
from kpd.model.codec import CodecError
from kpd.model.fold import fold_all
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.state import State
from kpd.model.waits import LogTrouble
from kpd.text.notices import notice as told
from tests.support.drawn import examples
from tests.support.model.strategies import related_facts


def noticed(text: str) -> e.Noticed:
    return e.Noticed("info", Said(text))


@pytest.fixture
def journal(tmp_path: Path) -> EventJournal:
    return EventJournal(EventStore(tmp_path / "events.db"))


@settings(max_examples=examples(30))
@given(related_facts, st.integers(1, 8), st.booleans())
def test_a_restart_finds_the_live_state(
    tmp_path_factory: pytest.TempPathFactory, facts: list[e.Fact], every: int, clean: bool
) -> None:
    path = tmp_path_factory.mktemp("log") / "events.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_module, "SNAPSHOT_EVERY", every)
        journal = EventJournal(EventStore(path))
        for fact in facts:
            journal.emit(fact)
        live = journal.state
        if clean:
            journal.close()
        else:
            journal.store.close()
    with EventStore(path) as store:
        assert fold_all(store.read()) == live
        assert load_state(store) == live
        assert EventJournal(store).state == live


def test_a_snapshot_spares_the_fold_of_what_came_before(journal: EventJournal) -> None:
    journal.emit(noticed("before"))
    journal.snapshot()
    journal.emit(noticed("after"))
    store = journal.store
    with sqlite3.connect(store.path) as db:  # if the first event were folded again, this would show
        db.execute("UPDATE events SET kind = 'moon_landed' WHERE seq = 1")
    db.close()
    assert [told(notice) for notice in load_state(store).notices] == ["before", "after"]


def test_another_fold_does_not_trust_the_snapshot(journal: EventJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.emit(noticed("x"))
    journal.store.save_snapshot(
        1, journal_module.model_digest(), b'{"seq": 1, "held": {"kind": "told", "text": "from the snapshot"}}'
    )
    assert load_state(journal.store).held == Told("from the snapshot")
    monkeypatch.setattr(journal_module, "model_digest", lambda: "other source")
    assert load_state(journal.store) == journal.state


def test_a_snapshot_that_cannot_be_read_is_ignored(journal: EventJournal) -> None:
    journal.emit(noticed("x"))
    journal.store.save_snapshot(1, journal_module.model_digest(), b'{"seq": "one"}')
    assert load_state(journal.store) == journal.state


def test_a_gap_in_the_log_is_damage(journal: EventJournal) -> None:
    for n in range(3):
        journal.emit(noticed(str(n)))
    with sqlite3.connect(journal.store.path) as db:
        db.execute("DELETE FROM events WHERE seq = 2")
    db.close()
    with pytest.raises(StoreError, match="event 2 is missing"):
        load_state(journal.store)


def test_listeners_are_told_after_the_fact_is_durable_and_folded(journal: EventJournal) -> None:
    seen: list[tuple[Message, int, int]] = []

    def listen(message: Message) -> None:
        with EventStore(journal.store.path, read_only=True) as reader:
            seen.append((message, journal.state.seq, reader.tail(1)[-1].seq))

    journal.subscribe(listen)
    first = journal.emit(noticed("a"))
    journal.live("build", "r1", 1, "cc -O2\n")
    second = journal.emit(noticed("b"))
    assert seen == [(first, 1, 1), (Live("build", "r1", 1, "cc -O2\n"), 1, 1), (second, 2, 2)]


def test_nobody_is_told_after_unsubscribing(journal: EventJournal) -> None:
    seen: list[Message] = []
    unsubscribe = journal.subscribe(seen.append)
    event = journal.emit(noticed("a"))
    unsubscribe()
    journal.emit(noticed("b"))
    assert seen == [event]


def test_all_listeners_hear_the_same_order_even_when_one_emits(journal: EventJournal) -> None:
    heard: list[int] = []

    def answering(message: Message) -> None:
        if isinstance(message, e.Event) and message.fact == noticed("question"):
            journal.emit(noticed("answer"))

    def listening(message: Message) -> None:
        assert isinstance(message, e.Event)
        heard.append(message.seq)

    journal.subscribe(answering)
    journal.subscribe(listening)
    journal.emit(noticed("question"))
    assert heard == [1, 2]


def test_a_failed_write_leaves_the_state_and_tells_nobody(journal: EventJournal) -> None:
    seen: list[Message] = []
    journal.subscribe(seen.append)
    db = journal.store._db
    db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
    before = journal.state
    with pytest.raises(StoreError, match="no space left"):
        journal.emit(noticed("x" * 100_000))
    assert (journal.state, seen) == (before, [])
    db.execute("PRAGMA max_page_count = 1000000")
    event = journal.emit(noticed("space again"))
    assert (event.seq, seen) == (1, [event])


def test_a_snapshot_that_finds_no_space_costs_no_event(journal: EventJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.emit(noticed("x" * 100_000))
    monkeypatch.setattr(journal_module, "SNAPSHOT_EVERY", 1)
    db = journal.store._db
    db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
    assert journal.emit(noticed("y")).seq == 2
    assert load_state(journal.store) == journal.state


def test_a_fact_that_could_not_be_read_back_changes_nothing(journal: EventJournal) -> None:
    before = journal.state
    with pytest.raises(CodecError):
        journal.emit(e.Profiled("r1", 1, 0.0, 0.0, {"ipc": float("inf")}))
    assert journal.state == before


def test_a_suspended_journal_is_held_in_memory_until_the_next_fact_about_the_queue(journal: EventJournal) -> None:
    seen: list[Message] = []
    journal.emit(noticed("x"))
    journal.subscribe(seen.append)
    journal.suspend(LogTrouble("the disk is full"))
    assert journal.state.held == LogTrouble("the disk is full")
    assert seen == [journal.state]
    journal.emit(noticed("y"))
    assert journal.state.held == LogTrouble("the disk is full")
    journal.snapshot()
    assert load_state(journal.store).held is None
    journal.emit(e.QueueReleased("someone"))
    assert journal.state.held is None


def test_long_live_text_is_cut_into_several(journal: EventJournal) -> None:
    seen: list[Message] = []
    journal.subscribe(seen.append)
    text = "é" * (2 * LIVE_CHARACTERS + 1)
    journal.live("agent", "r1", 1, text)
    assert len(seen) == 3
    assert "".join(message.text for message in seen if isinstance(message, Live)) == text


def test_events_of_one_iteration(journal: EventJournal) -> None:
    journal.emit(e.IterationStarted("r1", 1, "sweep", 0))
    other = journal.emit(e.IterationStarted("r1", 2, "sweep", 0))
    assert list(journal.events("r1", 2)) == [other]
    assert list(journal.events(after=1, limit=1)) == [other]
    assert journal.state == State(seq=2, at=other.at)
