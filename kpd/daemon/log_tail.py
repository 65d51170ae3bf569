"""Keeps the newest lines of the daemon's own log, for UIs on other machines.

The answer to the query `diary` is these lines, [Notice], the oldest first. Each new one also goes to subscribers as
live output on the channel DAEMON_LOG. What a person should read is also an event (`Noticed`), and is not kept here.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kpd.daemon.journal import EventJournal
from kpd.model.codec import jsonable
from kpd.model.notices import Level, Notice, Said
from kpd.wire import DAEMON_LOG, DaemonError

MOST_LINES = 500
NOTICED = {"noticed": True}
"""The `extra` of a log record that is an event already."""


class LogTail(logging.Handler):
    """A logging handler that keeps the newest lines in memory, wherever else the log goes."""

    def __init__(self, journal: EventJournal) -> None:
        super().__init__(logging.INFO)
        self._journal = journal
        self._loop = asyncio.get_running_loop()
        self._lines: deque[Notice] = deque(maxlen=MOST_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record's line; can be called from any thread. Of a traceback only the last line is kept."""
        if getattr(record, "noticed", False):
            return
        text = record.getMessage()
        if record.exc_info and (err := record.exc_info[1]) is not None:
            text += f": {type(err).__name__}: {err}"
        self._loop.call_soon_threadsafe(self._keep, record.created, _level(record.levelno), text)

    def _keep(self, at: float, level: Level, text: str) -> None:
        self._lines.append(Notice(at, level, Said(text)))
        self._journal.live(DAEMON_LOG, "", 0, f"{text}\n")

    def answer(self, args: Mapping[str, object]) -> list[Any]:
        """Return the lines as plain JSON values. Raises DaemonError (usage)."""
        if args:
            raise DaemonError("usage", f"query diary takes no {min(args)!r}", "it takes nothing")
        return [jsonable(line) for line in self._lines]

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Run the block while this handler keeps everything that is logged."""
        root = logging.getLogger()
        root.addHandler(self)
        try:
            yield
        finally:
            root.removeHandler(self)


def _level(number: int) -> Level:
    return "error" if number >= logging.ERROR else "warning" if number >= logging.WARNING else "info"
