"""The event log on a real disk: what is written is read back, and what cannot be written is said in words."""

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kpd.daemon import store as store_module
from kpd.daemon.store import MIGRATIONS, EventStore, StoreError
from kpd.model import events as e
from kpd.model.codec import CodecError
from kpd.model.notices import Said
from tests.support.drawn import examples
from tests.support.model.strategies import related_facts


def noticed(text: str) -> e.Noticed:
    return e.Noticed("info", Said(text))


@settings(max_examples=examples(25))
@given(related_facts)
def test_what_was_appended_is_read_after_reopening(
    tmp_path_factory: pytest.TempPathFactory, facts: list[e.Fact]
) -> None:
    path = tmp_path_factory.mktemp("log") / "events.db"
    with EventStore(path) as store:
        written = [store.append(fact, 100.0 + n) for n, fact in enumerate(facts)]
    assert [event.seq for event in written] == list(range(1, len(facts) + 1))
    assert [event.fact for event in written] == facts
    with EventStore(path) as store:
        assert list(store.read()) == written


@settings(max_examples=examples(25))
@given(related_facts, st.integers(0, 30), st.integers(0, 30), st.sampled_from(["r1", None]), st.sampled_from([1, None]))
def test_read_and_tail_select_like_a_filter(
    tmp_path_factory: pytest.TempPathFactory,
    facts: list[e.Fact],
    after: int,
    limit: int,
    run: str | None,
    iteration: int | None,
) -> None:
    with EventStore(tmp_path_factory.mktemp("log") / "events.db") as store:
        written = [store.append(fact, 0.0) for fact in facts]
        chosen = [
            event
            for event in written
            if (run is None or getattr(event.fact, "run", None) == run)
            and (iteration is None or getattr(event.fact, "iteration", None) == iteration)
            # SteeringConsumed names an iteration without being a fact of it
            and (iteration is None or isinstance(event.fact, e.IterationFact))
        ]
        assert list(store.read(after, limit, run, iteration)) == [ev for ev in chosen if ev.seq > after][:limit]
        assert store.tail(limit, run, iteration) == (chosen[-limit:] if limit else [])


def test_reading_goes_on_in_chunks_while_the_log_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_CHUNK", 2)
    with EventStore(tmp_path / "events.db") as store:
        for n in range(5):
            store.append(noticed(str(n)), 0.0)
        reading = store.read()
        first = next(reading)
        store.append(noticed("5"), 0.0)
        assert [first.seq, *(event.seq for event in reading)] == [1, 2, 3, 4, 5, 6]


def test_a_fact_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    with EventStore(tmp_path / "events.db") as store:
        with pytest.raises(CodecError):
            store.append(e.Checked("r1", 1, 0.0, 0.0, 3, float("nan")), 0.0)
        assert store.append(noticed("next"), 0.0).seq == 1


def test_no_number_is_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with EventStore(path) as first, EventStore(path) as second:
        first.append(noticed("first"), 0.0)
        with pytest.raises(StoreError, match="another process") as caught:
            second.append(noticed("second"), 0.0)
        assert caught.value.fault == "busy"
        assert [event.fact for event in first.read()] == [noticed("first")]


def test_a_writer_elsewhere_is_named_not_waited_for_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_BUSY_S", 0.05)
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process") as caught:
            store.append(noticed("x"), 0.0)
        assert caught.value.fault == "busy"
        other.execute("ROLLBACK")
        other.close()
        assert store.append(noticed("x"), 0.0).seq == 1


def test_a_full_disk_costs_one_event_and_no_number(tmp_path: Path) -> None:
    with EventStore(tmp_path / "events.db") as store:
        store.append(noticed("before"), 0.0)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="no space left for the event log") as caught:
            store.append(noticed("x" * 100_000), 0.0)
        assert caught.value.fault == "full"
        assert [event.seq for event in store.read()] == [1]
        store._db.execute("PRAGMA max_page_count = 1000000")
        assert store.append(noticed("after"), 0.0).seq == 2


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    path.write_bytes(b"this was never an event log" * 100)
    with pytest.raises(StoreError, match="damaged") as caught:
        EventStore(path)
    assert caught.value.fault == "damaged"


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_is_refused(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "events.db"
    EventStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(StoreError, match="use a newer kpd") as caught:
        EventStore(path, read_only)
    assert caught.value.fault == "newer"


def test_an_unknown_kind_of_event_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        store.append(noticed("x"), 0.0)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET kind = 'moon_landed'")
    db.close()
    with EventStore(path) as store, pytest.raises(StoreError, match=r"event 1 .*moon_landed"):
        list(store.read())


def test_an_older_schema_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        store.append(noticed("old"), 0.0)

    def second(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE events ADD COLUMN extra TEXT")

    monkeypatch.setattr(store_module, "MIGRATIONS", [*MIGRATIONS, second])
    with pytest.raises(StoreError, match="start the daemon once"):
        EventStore(path, read_only=True)
    with EventStore(path) as store:
        assert [event.fact for event in store.read()] == [noticed("old")]
        assert store.append(noticed("new"), 0.0).seq == 2
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert [row[0] for row in db.execute("SELECT extra FROM events")] == [None, None]
    db.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        store.append(noticed("old"), 0.0)

    def broken(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM events")
        db.execute("ALTER TABLE no_such_table ADD COLUMN extra TEXT")

    monkeypatch.setattr(store_module, "MIGRATIONS", [*MIGRATIONS, broken])
    with pytest.raises(StoreError, match="no_such_table"):
        EventStore(path)
    monkeypatch.undo()
    with EventStore(path) as store:
        assert [event.fact for event in store.read()] == [noticed("old")]


def test_read_only_needs_no_daemon_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with pytest.raises(StoreError, match="no event log") as caught:
        EventStore(path, read_only=True)
    assert caught.value.fault == "missing"
    with EventStore(path) as store:
        store.append(noticed("x"), 0.0)
    before = sorted(tmp_path.iterdir())
    with EventStore(path, read_only=True) as reader:
        assert [event.seq for event in reader.read()] == [1]
        with pytest.raises(StoreError, match="may not be written") as refused:
            reader.append(noticed("y"), 0.0)
        assert refused.value.fault == "read_only"
    assert sorted(tmp_path.iterdir()) == before == [path]


def test_read_only_sees_what_a_writer_has_just_written(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with EventStore(path) as writer:
        writer.append(noticed("x"), 0.0)
        with EventStore(path, read_only=True) as reader:
            writer.append(noticed("y"), 0.0)
            assert [event.seq for event in reader.read()] == [1, 2]


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="check the folder"):
        EventStore(tmp_path / "missing" / "events.db")


def test_snapshots_are_kept_by_the_model_that_made_them(tmp_path: Path) -> None:
    with EventStore(tmp_path / "events.db") as store:
        store.append(noticed("x"), 0.0)
        assert store.snapshot("model a") is None
        store.save_snapshot(1, "model a", b"{}")
        assert store.snapshot("model a") == b"{}"
        assert store.snapshot("model b") is None
        store.save_snapshot(1, "model b", b"[]")
        assert store.snapshot("model a") is None


def test_the_schema_in_the_docstring_is_the_one_on_disk(tmp_path: Path) -> None:
    with EventStore(tmp_path / "events.db") as store:
        for table in ("events", "snapshots"):
            columns = store._db.execute(f"PRAGMA table_info({table})").fetchall()
            for _number, name, kind, *_rest in columns:
                assert any(name in line and kind in line for line in (store_module.__doc__ or "").splitlines()), name
        assert f"Schema, version {len(MIGRATIONS)}" in (store_module.__doc__ or "")


def test_nothing_is_written_to_a_log_that_was_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        store.append(noticed("x"), 0.0)
        path.rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(StoreError, match="was removed or replaced; put it back") as found:
                store.append(noticed("y"), 0.0)
            assert found.value.fault == "missing"
            path.write_bytes(b"")  # another file of that name is not the log either
        (tmp_path / "elsewhere").replace(path)
        assert store.append(noticed("z"), 0.0).seq == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_log_in_a_folder_of_somebody_else_can_still_be_read(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        store.append(noticed("x"), 0.0)
    tmp_path.chmod(0o500)
    try:
        with EventStore(path, read_only=True) as reader:
            assert [event.seq for event in reader.read()] == [1]
    finally:
        tmp_path.chmod(0o700)
