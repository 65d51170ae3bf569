"""Facts of what does not go on although it could: for a person who is not looking."""

from dataclasses import dataclass

from kpd.model.fact import Fact, IterationFact
from kpd.model.nouns import StepName


@dataclass(frozen=True, slots=True)
class DeviceIdle(Fact):
    """Nothing has been measured on the device for so long, although `runs` could: `reason` says what keeps them.

    `device` is its name, `device_id` is that of its `Device`.
    """

    host: str
    device: str
    device_id: str
    seconds: float
    runs: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str:
        where = f"{self.device} of {self.host}" if self.device else self.host
        lasted = f"for {_minutes(self.seconds)}, although {', '.join(self.runs)} could"
        return f"nothing has been measured on {where} {lasted}: {self.reason}"


@dataclass(frozen=True, slots=True)
class StepStalled(IterationFact):
    """The step takes far longer than it does: `usual_s` is the median of the run's own, None where it has had none."""

    step: StepName
    seconds: float
    usual_s: float | None = None

    @property
    def text(self) -> str:
        name = f"{self.run}.{self.iteration}"
        usual = "" if self.usual_s is None else f" (usually {_seconds(self.usual_s)})"
        return f"{name} has been at {self.step} for {_minutes(self.seconds)}{usual}; kpd skip gives it up"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _seconds(seconds: float) -> str:
    return _minutes(seconds) if seconds >= 90 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
