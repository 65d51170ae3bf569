"""Keeps the position in a recording. Time is an argument, so that tests need no clock."""

from collections.abc import Sequence

from kpd.model.playback import SPEEDS

LONGEST_S = 3.0
"""Most seconds that a viewer waits for the next moment, at any speed; a longer wait is cut short."""
WHOLE_S = 150.0
"""Most seconds that a whole recording takes at its own speed."""


class Playhead:
    """A position that moves over the moments of a recording as the seconds of a clock pass.

    `waits` are the recorded seconds before each moment. `next` is the index of the next moment; at the end it is
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
        """Move on to the time `now`, and return the moments that were passed since the last call."""
        if self.playing:
            self._waited += max(0.0, now - self._seen) * self.speed
        self._seen = now
        begun = self.next
        while self.playing and not self.over and self._waited >= (wait := self._wait()):
            self._waited -= wait
            self.next += 1
        return range(begun, self.next)

    def due(self) -> float | None:
        """Return the seconds from the last `advance` until the next moment; None while nothing comes by itself."""
        return None if self.over or not self.playing else max(0.0, self._wait() - self._waited) / self.speed

    def jump(self, to: int) -> range:
        """Move on to the moment `to` without waiting, and pause there. Return the moments that were passed."""
        begun = self.next
        self.next = max(begun, min(to, len(self._waits)))
        self.playing = False
        self._waited = 0.0
        return range(begun, self.next)

    def rewind(self) -> None:
        """Go back to the beginning, and play."""
        self.next = 0
        self.playing = True
        self._waited = 0.0

    def _wait(self) -> float:
        """Return the recorded seconds before the next moment, without the part that is cut."""
        return min(self._waits[self.next], LONGEST_S * self.speed)


def lasts(waits: Sequence[float], speed: int) -> float:
    """Compute the seconds that it takes to play all moments at `speed`."""
    return sum(min(wait / speed, LONGEST_S) for wait in waits)


def own_speed(waits: Sequence[float]) -> int:
    """Return the lowest speed at which a recording takes at most WHOLE_S, else the highest speed."""
    return next((speed for speed in SPEEDS if lasts(waits, speed) <= WHOLE_S), SPEEDS[-1])
