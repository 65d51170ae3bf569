"""Describes a recorded run that is being played: its source, speed and position."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.fact import Fact

SPEEDS = (1, 2, 4, 8, 16, 32, 64)
"""Recorded seconds in one."""
PlaybackState = Literal["playing", "paused", "over"]


@dataclass(frozen=True, slots=True)
class Playback:
    """All other facts in the log are a recording's: they happened on `device`, on the day `made` (2026-11-21, UTC).

    `begins` and `ends` are the Unix times of its first and its last event. `speed` says how many recorded seconds pass
    in one; long waits are cut short besides.
    """

    device: str
    made: str
    begins: float
    ends: float
    speed: int
    state: PlaybackState

    @property
    def label(self) -> str:
        return f"recording · {self.device} · {self.made}"


@dataclass(frozen=True, slots=True)
class PlaybackChanged(Fact):
    """What follows is a recording's; or somebody plays it in another way."""

    playback: Playback
