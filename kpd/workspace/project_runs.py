"""Keeps what is done for a project before its runs: a row before and after each phase, and before a task is made.

A phase is done by a process of its own. Its rows tell the daemon how it ended, also one that was not there by then, and
the next process which tasks were made of what, also where the one that made a task was killed.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kpd.model.preparation import BeforePhase, PhaseResult
from kpd.workspace.locks import lock_soon, try_lock
from kpd.workspace.paths import Workspace
from kpd.workspace.rows import add_row, fitting, rows_of
from kpd.workspace.run_files import read_plain

T = TypeVar("T")


class ProjectBusy(Exception):
    """The error that another process is at a phase of the project's next run."""


class ProjectRuns:
    """The rows of one project, in the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of(cls, workspace: Workspace, project: str) -> "ProjectRuns":
        return cls(workspace.root / "refs" / f"{project}.runs.jsonl")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the rows; the lock ends with the process. Raises ProjectBusy, OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            if not lock_soon(lock):
                raise ProjectBusy(str(self._path))
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(lock)

    @property
    def holder(self) -> int | None:
        """The process that holds the rows; None without one, 0 where it has not said so yet. Raises OSError."""
        try:
            lock = os.open(self._lock, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            if try_lock(lock):
                return None
        finally:
            os.close(lock)
        said = read_plain(self._lock).decode(errors="replace")
        return int(said) if said.isdecimal() else 0

    def begins(self, run: str, phase: BeforePhase) -> None:
        """Note that a phase of a run begins, before anything of it is done."""
        self._note(run=run, begins=phase)

    def makes(self, run: str, task: str, key: str) -> None:
        """Note that a task is about to be made of what has the hash `key`."""
        self._note(run=run, makes=task, key=key)

    def ends(self, run: str, phase: BeforePhase, result: PhaseResult, seconds: float) -> None:
        self._note(run=run, ends=phase, result=result, seconds=seconds)

    def ended(self, run: str, phase: BeforePhase, since: float) -> tuple[PhaseResult, float] | None:
        """Return what a phase of a run that was queued at `since` came to, and its seconds; None where nothing says so.

        Ids of runs start again with a new log.
        """
        for row in reversed(self._rows):
            if (row.get("run"), row.get("ends")) == (run, phase):
                with contextlib.suppress(msgspec.ValidationError):
                    found = msgspec.convert(row, _End)
                    return (found.result, found.seconds) if found.at >= since else None
        return None

    def answered(self, run: str, **answer: str) -> None:
        """Note an answer to what a phase asks: a process that goes on for a killed one is given it."""
        self._note(run=run, answer=answer)

    def answers(self, run: str, since: float, kind: type[T]) -> list[T]:
        """Return the answers in a run that was queued at `since`, in their order, as values of this kind."""
        its = (one for one in fitting(self._rows, _Answer) if one.run == run and one.at >= since)
        return list(fitting((one.answer for one in its), kind))

    def tasks_of(self, key: str) -> list[str]:
        """Return the names of the tasks that were made of what has this hash, the newest first.

        Also of those that a kill has cut off, as they may be there; not of those that failed: another task may be.
        """
        return [name for name, of in reversed(self._made) if of == key]

    @property
    def tasks(self) -> list[str]:
        """The names of all tasks that were made, the oldest first."""
        return [name for name, _ in self._made]

    @property
    def _made(self) -> list[tuple[str, str]]:
        made: list[tuple[str, str]] = []
        for row in self._rows:
            if isinstance(key := row.get("key"), str):
                made.append((str(row.get("makes", "")), key))
            elif row.get("ends") == "task" and isinstance(found := row.get("result"), dict) and found.get("failed"):
                del made[-1:]
        return made

    @property
    def _rows(self) -> list[dict[str, Any]]:
        try:
            return list(rows_of(self._path))
        except FileNotFoundError:
            return []

    @property
    def _lock(self) -> Path:
        return self._path.with_suffix(".lock")

    def _note(self, **found: Any) -> None:
        add_row(self._path, {"at": time.time(), **found})


class _Answer(msgspec.Struct):
    at: float
    run: str
    answer: dict[str, str]


class _End(msgspec.Struct):
    at: float
    result: PhaseResult
    seconds: float
