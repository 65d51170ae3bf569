"""Stores the event log on disk: one SQLite file in WAL mode, append-only.

Schema, version 1 (`PRAGMA user_version`):

    events     seq        INTEGER PRIMARY KEY   1, 2, 3, … without gaps
               at         REAL                  Unix time in seconds
               kind       TEXT                  the fact's name: run_queued, built, judged, …
               run        TEXT                  the run it belongs to, NULL for the daemon's own facts
               iteration  INTEGER               the iteration it belongs to, NULL outside iterations
               body       TEXT                  the fact's fields as a JSON object
    snapshots  seq        INTEGER PRIMARY KEY   the last event that is folded into `state`
               fold       TEXT                  digest of the source of kpd.model: another digest voids the snapshot
               state      BLOB                  the State as JSON

The events are the truth; snapshots only save time at a start and may be deleted. Every append is one transaction,
flushed to the disk before it counts (`synchronous=FULL`). While no daemon runs, the file may be opened read-only.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote

from kpd.engine.journal import JournalError
from kpd.model import codec
from kpd.model.events import Event
from kpd.model.fact import Fact, IterationFact, RunFact
from kpd.workspace.disk import is_full

StoreFault = Literal["missing", "full", "read_only", "damaged", "newer", "older", "busy", "unwritable"]
_CHUNK = 500
_BUSY_S = 2.0


class StoreError(JournalError):
    """A failure to read or write the event log; the message says why."""

    def __init__(self, fault: StoreFault, message: str, remedy: str) -> None:
        super().__init__(f"{message}; {remedy}")
        self.fault = fault
        self.message = message
        self.remedy = remedy


class EventStore:
    """One open event log. Threads must not share it."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        """Open the log, and bring its schema up to date; create the file where there is none, unless `read_only`.

        Raises StoreError.
        """
        self.path = path
        self._db = _open(path, read_only)
        try:
            if not read_only:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=FULL")
            self._migrate(read_only)
            self._last = int(self._db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])
            self._file = _identity(path)
        except sqlite3.Error as err:
            self._db.close()
            raise _explained(err, path) from err
        except StoreError:
            self._db.close()
            raise

    def append(self, fact: Fact, at: float) -> Event:
        """Write one fact as the next event, and return that. Where StoreError is raised, nothing was written.

        Raises CodecError, before anything is written, for a fact that could not be read back: a NaN, a wrong type.
        """
        body = codec.encode(fact).decode()
        event = Event(self._last + 1, at, codec.fact_from(fact.kind(), body))
        run = fact.run if isinstance(fact, RunFact) else None
        iteration = fact.iteration if isinstance(fact, IterationFact) else None
        row = (event.seq, at, fact.kind(), run, iteration, body)
        if _identity(self.path) != self._file:  # writes to a file that was removed would be lost silently
            raise StoreError(
                "missing", f"{self.path} was removed or replaced", "put it back, or end this daemon and start it again"
            )
        with _transaction(self._db, self.path):
            self._db.execute("INSERT INTO events (seq, at, kind, run, iteration, body) VALUES (?, ?, ?, ?, ?, ?)", row)
        self._last = event.seq
        return event

    def read(
        self, after: int = 0, limit: int | None = None, run: str | None = None, iteration: int | None = None,
        kind: str | None = None,
    ) -> Iterator[Event]:  # fmt: skip
        """Yield events with `seq` above `after`, oldest first, at most `limit`, of one run, iteration or kind if given.

        Reads in chunks, without a cursor that stays open, so the log can grow meanwhile. Raises StoreError.
        """
        left = limit
        while left is None or left > 0:
            size = _CHUNK if left is None else min(_CHUNK, left)
            rows = self._rows("seq > ?", [after], f"ORDER BY seq LIMIT {size}", run=run, iteration=iteration, kind=kind)
            yield from map(self._event, rows)
            if len(rows) < size:
                return
            after = rows[-1][0]
            left = None if left is None else left - size

    def tail(self, limit: int, run: str | None = None, iteration: int | None = None) -> list[Event]:
        """Return the newest `limit` events, oldest first, of one run or iteration if given. Raises StoreError."""
        order = f"ORDER BY seq DESC LIMIT {max(0, limit)}"
        rows = self._rows("seq <= ?", [self._last], order, run=run, iteration=iteration)
        return [self._event(row) for row in reversed(rows)]

    def save_snapshot(self, seq: int, fold: str, state: bytes) -> None:
        """Save `state` as the fold of all events up to `seq`, in place of older snapshots. Raises StoreError."""
        with _transaction(self._db, self.path):
            self._db.execute("DELETE FROM snapshots")
            self._db.execute("INSERT INTO snapshots (seq, fold, state) VALUES (?, ?, ?)", (seq, fold, state))

    def snapshot(self, fold: str) -> bytes | None:
        """Return the newest snapshot made by a model with the digest `fold`, or None. Raises StoreError."""
        query = "SELECT state FROM snapshots WHERE fold = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
        try:
            row = self._db.execute(query, (fold, self._last)).fetchone()
        except sqlite3.Error as err:
            raise _explained(err, self.path) from err
        return None if row is None else bytes(row[0])

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _rows(
        self, where: str, values: list[Any], order: str, **wanted: str | int | None
    ) -> list[tuple[int, float, str, str]]:
        for column, value in wanted.items():
            if value is not None:
                where += f" AND {column} = ?"
                values.append(value)
        try:
            return self._db.execute(f"SELECT seq, at, kind, body FROM events WHERE {where} {order}", values).fetchall()
        except OverflowError:  # no event has such a number
            return []
        except sqlite3.Error as err:
            raise _explained(err, self.path) from err

    def _event(self, row: tuple[int, float, str, str]) -> Event:
        seq, at, kind, body = row
        try:
            return Event(seq, at, codec.fact_from(kind, body))
        except codec.CodecError as err:
            message = f"event {seq} in {self.path} cannot be read: {err}"
            raise StoreError("newer", message, "use the kpd that wrote it, or a newer one") from err

    def _migrate(self, read_only: bool) -> None:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            message = f"{self.path} has schema {version}, this kpd knows up to {len(MIGRATIONS)}"
            raise StoreError("newer", message, "use a newer kpd")
        if read_only and version < len(MIGRATIONS):
            message = f"{self.path} has schema {version}, this kpd reads {len(MIGRATIONS)}"
            raise StoreError("older", message, "start the daemon once: it brings the file up to date")
        for number, migrate in enumerate(MIGRATIONS[version:], start=version + 1):
            with _transaction(self._db, self.path):
                migrate(self._db)
                self._db.execute(f"PRAGMA user_version = {number}")


def _first_schema(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL,"
        " run TEXT, iteration INTEGER, body TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX events_of_run ON events (run) WHERE run IS NOT NULL")
    db.execute("CREATE INDEX events_of_iteration ON events (run, iteration) WHERE iteration IS NOT NULL")
    db.execute("CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, fold TEXT NOT NULL, state BLOB NOT NULL)")


# Each brings the schema one version up; a released one is never changed, only followed by another.
MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_first_schema]


@contextmanager
def _transaction(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run the block as one transaction, which is undone if the block fails. Raises StoreError for sqlite3's errors."""
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # SQLite has ended it by itself after most errors of the disk
                db.execute("ROLLBACK")
            raise
    except sqlite3.Error as err:
        raise _explained(err, path) from err


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file with this name now; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open(path: Path, read_only: bool) -> sqlite3.Connection:
    if read_only and not path.exists():
        raise StoreError("missing", f"no event log at {path}", "kpd start makes one")
    mode = "ro" if read_only else "rwc"
    if read_only and not path.with_name(path.name + "-wal").exists():
        # After a clean stop the file is complete by itself; without this SQLite would create files beside it.
        mode += "&immutable=1"
    try:
        return sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode={mode}", uri=True, isolation_level=None, timeout=_BUSY_S
        )
    except sqlite3.Error as err:
        raise _explained(err, path) from err


def _explained(err: sqlite3.Error, path: Path) -> StoreError:
    code = getattr(err, "sqlite_errorcode", None)
    number = None if code is None else code & 0xFF
    if number == sqlite3.SQLITE_FULL or (number == sqlite3.SQLITE_IOERR and is_full(path.parent)):
        return StoreError("full", f"no space left for the event log {path}", "free some space on that disk")
    match number:
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return StoreError("read_only", f"the event log {path} may not be written", "check its owner and mode")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            remedy = "move it away and restore a copy, or start with an empty log"
            return StoreError("damaged", f"the event log {path} is damaged ({err})", remedy)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_CONSTRAINT:
            return StoreError("busy", f"another process is writing to the event log {path}", "end that process")
        case _:
            message = f"the event log {path} cannot be read or written ({err})"
            return StoreError("unwritable", message, "check the folder, its owner and the disk")
