"""Defines what the engine needs of the event log: emit facts, read the state."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from kpd.model.events import Event, Fact
from kpd.model.state import Run, State
from kpd.model.waits import Hold, LogTrouble


class JournalError(Exception):
    """The event log cannot be written or read; the message says why, and what helps."""


class Journal(Protocol):
    """Implemented by the daemon; `emit` returns when the fact is durable."""

    @property
    def state(self) -> State: ...

    def emit(self, fact: Fact) -> Event:
        """Raise JournalError when the log cannot be written; the state is then unchanged."""

    def suspend(self, hold: Hold) -> None:
        """Hold the queue in memory alone: for when the log cannot take the fact that it is held."""

    def live(self, channel: str, run: str, iteration: int, text: str) -> None:
        """Broadcast output that need not last."""

    def subscribe(self, listener: Callable[[object], None]) -> Callable[[], None]:
        """Call `listener` with each event, and what else is told, after it is in the state; returns what ends that."""

    def events(self, run: str | None = None, iteration: int | None = None) -> Iterable[Event]:
        """Recorded events, oldest first."""


@contextmanager
def holding(journal: Journal) -> Iterator[None]:
    """When the log cannot be written within, the queue is held until a person says `resume`; no error comes out."""
    try:
        yield
    except JournalError as err:
        journal.suspend(LogTrouble(str(err)))


def run_of(journal: Journal, run: str) -> Run:
    """Return the run as it stands now."""
    return journal.state.runs[run]
