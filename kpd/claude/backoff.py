"""Defines how long the client waits: pauses between attempts, time limits, and notices to the operator meanwhile."""

import asyncio
import email.utils
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kpd.model.waits import Silent, Wait


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pauses and time limits of calls to the model service, in seconds.

    A pause doubles from `first_s` up to `most_s`. A pause that the service asks for is obeyed up to `most_asked_s`. The
    operator is told when no part of the answer has come for `quiet_s`. A call is ended when no byte has come for
    `stall_s`. That limit is long, because a model may think for minutes, and a call that is ended has to be paid for
    all the same.
    """

    first_s: float = 1.0
    most_s: float = 60.0
    most_asked_s: float = 300.0
    quiet_s: float = 30.0
    stall_s: float = 300.0
    connect_s: float = 15.0

    def pause(self, failures: int, asked_s: float | None, chance: float) -> float:
        """Return the pause in seconds after `failures` failed attempts in a row.

        `asked_s` is the pause that the service asked for, None if it did not. `chance` in [0, 1) varies the pause, so
        that clients that failed together do not try again together.
        """
        if asked_s is not None:
            return min(asked_s, self.most_asked_s) * (1 + 0.1 * chance)
        doubled = min(self.first_s * 2.0 ** min(failures - 1, 30), self.most_s)
        return doubled * (0.5 + 0.5 * chance)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that the headers ask for, as a number or a date; None where they ask for nothing."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) * unit_s
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(until.timestamp() - time.time(), 0.0)


class WaitNotices:
    """Notices to the operator: of trouble at once, of silence when it lasts, and None when it is over."""

    def __init__(self, waits: Callable[[Wait | None], None], quiet_s: float) -> None:
        self._waits = waits
        self._quiet_s = quiet_s
        self._timer: asyncio.TimerHandle | None = None
        self._told = False

    def begin(self) -> None:
        """Expect something from now on, and tell of the silence after `quiet_s`. The service's pings do not count."""
        self.pause()
        self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self.tell, Silent(self._quiet_s))

    def broken(self) -> None:
        """End the silence, because something came, and expect more."""
        self._over()
        self.begin()

    def pause(self) -> None:
        """Expect nothing for now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tell(self, wait: Wait) -> None:
        self._told = True
        self._waits(wait)

    def end(self) -> None:
        self.pause()
        self._over()

    def _over(self) -> None:
        if self._told:
            self._told = False
            self._waits(None)
