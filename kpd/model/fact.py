"""Defines the base classes of facts."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """Base of all facts; `kind` is the name in the log and on the wire."""

    @classmethod
    def kind(cls) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


@dataclass(frozen=True, slots=True)
class RunFact(Fact):
    run: str


@dataclass(frozen=True, slots=True)
class IterationFact(RunFact):
    iteration: int


@dataclass(frozen=True, slots=True)
class StepFact(IterationFact):
    """What a finished step found; `seconds` is its wall time, `overhead_s` the part that was kpd's own work."""

    seconds: float
    overhead_s: float
