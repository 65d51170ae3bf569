"""Keeps what was done for a project before its runs: a row before and after each phase, with what that made."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from kpd.workspace.rows import add_row, rows_of

Phase = Literal["check", "observe", "task", "run"]
"""The phases before a run's first iteration, in their order; `run` queues it."""


class ProjectBusy(Exception):
    """The error that another process works on the project's next run."""


class ProjectRuns:
    """The rows of one project, in the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the rows; the lock ends with the process. Raises ProjectBusy, OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as err:
                raise ProjectBusy(str(self._path)) from err
            yield
        finally:
            os.close(lock)

    @contextlib.contextmanager
    def phase(self, name: Phase, **found: Any) -> Iterator[dict[str, Any]]:
        """Note that a phase begins, before anything of it is done, and how it ended: what the block puts into the dict.

        An error is noted, and goes on; a process that is killed leaves the phase without an end.
        """
        self._note(begins=name, **found)
        ended: dict[str, Any] = {}
        try:
            yield ended
        except Exception as err:
            self._note(ends=name, failed=str(err))
            raise
        self._note(ends=name, **ended)

    def tasks_of(self, key: str) -> list[str]:
        """Return the names of the tasks that were made of what has this hash, the newest first.

        Also of those that a kill has cut off, as they may be there; not of those that failed: another task may be.
        """
        begun: list[dict[str, Any]] = []
        for row in self._rows:
            if row.get("begins") == "task":
                begun.append(row)
            elif row.get("ends") == "task" and "failed" in row:
                del begun[-1:]
        return [row["task"] for row in reversed(begun) if row.get("key") == key]

    @property
    def last_run(self) -> dict[str, Any] | None:
        """The last run that was to be queued: `task`, when (`at`), and its id as `run`, unless that was not noted."""
        found: dict[str, Any] | None = None
        for row in self._rows:
            if row.get("begins") == "run":
                found = row
            elif found is not None and row.get("ends") == "run" and "run" in row:
                found = {**found, "run": row["run"]}
        return found

    @property
    def _rows(self) -> list[dict[str, Any]]:
        try:
            return list(rows_of(self._path))
        except FileNotFoundError:
            return []

    def _note(self, **found: Any) -> None:
        add_row(self._path, {"at": time.time(), **found})
