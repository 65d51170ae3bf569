"""Defines what the engine needs of the event log: emit facts, read the state."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from kpd.model.events import Event
from kpd.model.fact import Fact
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.waits import Hold, LogTrouble


class JournalError(Exception):
    """The event log cannot be written or read; the message says why, and what helps."""


class Journal(Protocol):
    """The event log, implemented by the daemon."""

    @property
    def state(self) -> State: ...

    def emit(self, fact: Fact) -> Event:
        """Append a fact; it is durable when this returns.

        Raises JournalError when the log cannot be written; the state is then unchanged.
        """

    def suspend(self, hold: Hold) -> None:
        """Hold the queue in memory only: for when the log cannot record that it is held."""

    def live(self, channel: str, run: str, iteration: int, text: str) -> None:
        """Broadcast output that is not recorded."""

    def subscribe(self, listener: Callable[[object], None]) -> Callable[[], None]:
        """Call `listener` with each event or other message, once the state has it; return a function that ends this."""

    def events(self, run: str | None = None, iteration: int | None = None) -> Iterable[Event]:
        """Read recorded events, oldest first."""


@contextmanager
def holding(journal: Journal) -> Iterator[None]:
    """Run the block; when the log cannot be written in it, hold the queue until a person says `resume`.

    No JournalError leaves the block.
    """
    try:
        yield
    except JournalError as err:
        journal.suspend(LogTrouble(str(err)))


async def until(journal: Journal, run: str, holds: Callable[[Run], bool]) -> None:
    """Wait until the run, as the log has it by then, fulfils a condition."""
    told = asyncio.Event()
    end = journal.subscribe(lambda message: told.set() if isinstance(message, Event) else None)
    try:
        while not holds(run_of(journal, run)):
            told.clear()
            await told.wait()
    finally:
        end()


def run_of(journal: Journal, run: str) -> Run:
    """Return the run as it stands now."""
    return journal.state.runs[run]
