"""Defines what the watchdog reports: idle devices and stalled steps."""

from dataclasses import dataclass

from kpd.model.fact import Fact, IterationFact
from kpd.model.notices import IdleReason
from kpd.model.status import StepName


@dataclass(frozen=True, slots=True)
class DeviceIdle(Fact):
    """A device on which nothing has been measured for `seconds`, although `runs` could; `keeps` says what prevents it.

    `device` is its name, `device_id` is that of its `Device`.
    """

    host: str
    device: str
    device_id: str
    seconds: float
    runs: tuple[str, ...]
    keeps: IdleReason


@dataclass(frozen=True, slots=True)
class StepStalled(IterationFact):
    """A step that takes far longer than usual. `usual_s` is the median of that step in this run, None without one."""

    step: StepName
    seconds: float
    usual_s: float | None = None
