"""Calls the watchdog once a minute while a run is queued or active. An idle daemon has no timer."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from kpd.daemon.journal import EventJournal, Message
from kpd.engine.journal import JournalError
from kpd.engine.watchdog import Watchdog, usual_s
from kpd.workspace.config import NotifyConfig

EVERY_S = 60.0
log = logging.getLogger(__name__)


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], Timer]
"""Calls a function after so many seconds."""


class WatchdogTimer:
    """A timer that runs the watchdog.

    `clock` counts seconds and does not jump when the machine's time is set; `later` uses the same clock.
    """

    def __init__(
        self,
        journal: EventJournal,
        settings: Callable[[], NotifyConfig],
        later: Later | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._settings = settings
        self._later = later or asyncio.get_running_loop().call_later
        self._clock = clock
        self._watchdog = Watchdog()
        self._timer: Timer | None = None
        self._unsubscribe = journal.subscribe(self._heard)
        self._arm()

    def close(self) -> None:
        self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()

    def _heard(self, message: Message) -> None:
        if self._timer is None:
            self._arm()

    def _arm(self) -> None:
        state = self._journal.state
        self._timer = self._later(EVERY_S, self._look) if state.begun or state.queue else None

    def _look(self) -> None:
        idle_s = 60 * self._settings().idle_minutes
        try:
            usual = partial(usual_s, self._journal)
            for fact in self._watchdog.look(self._journal.state, self._clock(), idle_s, usual):
                self._journal.emit(fact)
        except JournalError as err:
            log.warning("the watchdog's report cannot be recorded: %s", err)
        finally:
            self._arm()
