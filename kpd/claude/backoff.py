"""Defines the client's patience: pauses between attempts, time limits, and what is said meanwhile."""

import asyncio
import email.utils
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kpd.model.waits import Silent, Wait


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds. A pause doubles from `first_s` up to `most_s`; what the service asks for counts up to `most_asked_s`.

    After `quiet_s` without a part of the answer the operator is told; after `stall_s` without a byte the call is given
    up. That is long, because a model may think for minutes, and what is given up is paid for all the same.
    """

    first_s: float = 1.0
    most_s: float = 60.0
    most_asked_s: float = 300.0
    quiet_s: float = 30.0
    stall_s: float = 300.0
    connect_s: float = 15.0

    def pause(self, failures: int, asked_s: float | None, chance: float) -> float:
        """Return how long to wait after so many failures in a row. `chance` in [0, 1) spreads clients that failed together."""
        if asked_s is not None:
            return min(asked_s, self.most_asked_s) * (1 + 0.1 * chance)
        doubled = min(self.first_s * 2.0 ** min(failures - 1, 30), self.most_s)
        return doubled * (0.5 + 0.5 * chance)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the service asks to be left alone: a number or a date, None where it does not say."""
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
    """Tells of trouble at once, of silence when it lasts, and when it is over."""

    def __init__(self, waits: Callable[[Wait | None], None], quiet_s: float) -> None:
        self._waits = waits
        self._quiet_s = quiet_s
        self._timer: asyncio.TimerHandle | None = None
        self._told = False

    def begin(self) -> None:
        """From now on something should come. The service's mere signs of life are not heard here."""
        self.pause()
        self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self.tell, Silent(self._quiet_s))

    def broken(self) -> None:
        """Something came."""
        self._over()
        self.begin()

    def pause(self) -> None:
        """Nothing is expected for now."""
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
