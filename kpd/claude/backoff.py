"""How patient the client is: pauses between attempts, and how long nothing may come."""

import email.utils
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass


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
        """How long to wait after so many failures in a row. `chance` in [0, 1) spreads clients that failed together."""
        if asked_s is not None:
            return min(asked_s, self.most_asked_s) * (1 + 0.1 * chance)
        doubled = min(self.first_s * 2.0 ** min(failures - 1, 30), self.most_s)
        return doubled * (0.5 + 0.5 * chance)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the service asks to be left alone: a number or a date, None where it does not say."""
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
