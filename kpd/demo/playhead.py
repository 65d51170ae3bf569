"""Keeps the position in a recording. Time is an argument, so a test and a screen get the same."""

from collections.abc import Sequence

from kpd.model.playback import SPEEDS

LONGEST_S = 3.0
"""Seconds before a screen that a wait may take at any speed; what is longer is cut short."""
WHOLE_S = 150.0
"""Seconds that a whole recording takes at its own speed, at most."""


class Playhead:
    """Walks over the moments of a recording as the seconds of a clock pass.

    `waits` are the recorded seconds before each moment. `next` is the one that comes next: there is none when it is
    `len(waits)`.
    """

    def __init__(self, waits: Sequence[float], speed: int, now: float) -> None:
        self.next = 0
        self.speed = speed
        self.playing = True
        self._waits = waits
        self._waited = 0.0
        self._seen = now

    @property
    def over(self) -> bool:
        return self.next >= len(self._waits)

    def advance(self, now: float) -> range:
        """Return the moments that have come since the last call, which are passed herewith."""
        if self.playing:
            self._waited += max(0.0, now - self._seen) * self.speed
        self._seen = now
        begun = self.next
        while self.playing and not self.over and self._waited >= (wait := self._wait()):
            self._waited -= wait
            self.next += 1
        return range(begun, self.next)

    def due(self) -> float | None:
        """Return seconds from the last `advance` until the next moment; None while nothing will come by itself."""
        return None if self.over or not self.playing else max(0.0, self._wait() - self._waited) / self.speed

    def jump(self, to: int) -> range:
        """Go on to the moment `to` without a wait, and pause there. The moments that are passed on the way."""
        begun = self.next
        self.next = max(begun, min(to, len(self._waits)))
        self.playing = False
        self._waited = 0.0
        return range(begun, self.next)

    def rewind(self) -> None:
        """Back to the beginning, playing."""
        self.next = 0
        self.playing = True
        self._waited = 0.0

    def _wait(self) -> float:
        """Recorded seconds before the next moment, as far as they are played."""
        return min(self._waits[self.next], LONGEST_S * self.speed)


def lasts(waits: Sequence[float], speed: int) -> float:
    """Return seconds that it takes to play all moments at `speed`."""
    return sum(min(wait / speed, LONGEST_S) for wait in waits)


def own_speed(waits: Sequence[float]) -> int:
    """Return the lowest speed at which a recording is over within WHOLE_S."""
    return next((speed for speed in SPEEDS if lasts(waits, speed) <= WHOLE_S), SPEEDS[-1])
