"""Defines what the watchdog reports: idle devices and stalled steps."""

from dataclasses import dataclass

from kpd.model.fact import Fact, IterationFact
from kpd.model.notices import IdleReason
from kpd.model.state import StepName


@dataclass(frozen=True, slots=True)
class DeviceIdle(Fact):
    """Nothing has been measured on the device for so long, although `runs` could: `keeps` says what keeps them.

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
    """The step takes far longer than it does: `usual_s` is the median of the run's own, None where it has had none."""

    step: StepName
    seconds: float
    usual_s: float | None = None
