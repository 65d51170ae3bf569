"""Describes a recorded run that is being played: its source, speed and position."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.fact import Fact

SPEEDS = (1, 2, 4, 8, 16, 32, 64)
"""Recorded seconds per second of playing."""
PlaybackState = Literal["playing", "paused", "over"]


@dataclass(frozen=True, slots=True)
class Playback:
    """How a recording is played. All other facts in the log come from that recording.

    They happened on `device`, on the day `made` (2026-11-21, UTC). `begins` and `ends` are the Unix times of the first
    and the last event. `speed` says how many recorded seconds pass in one; long waits are cut short besides.
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
    """The start of a playback, or a change of how it is played."""

    playback: Playback
