"""Defines the profile of a candidate, and how one is made."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kpd.measure.bench import Bench
from kpd.model.events import Timed
from kpd.model.profiles import Advice, Finding
from kpd.profile.rules import Rule


@dataclass(frozen=True, slots=True)
class Profile:
    """`missing` says for each metric that could not be had, why. `files` are for the iteration's folder, by name.

    `trouble` says why a vendor's profiler gave nothing; empty when it did, or is not needed.
    """

    metrics: dict[str, float]
    missing: dict[str, str]
    advice: tuple[Advice, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    trouble: str = ""


class ProfileCandidate(Protocol):
    """Profiles a candidate that was timed: `built` is its Object's job, `job` the profiler's own. Raises HostError.

    A vendor's advice costs time and is read of the incumbent alone: `advised` asks for it.
    """

    def __call__(
        self, bench: Bench, built: str, timed: Timed, job: str, say: Callable[[str], None], advised: bool = True
    ) -> Awaitable[Profile]: ...


class TimedMetrics(Protocol):
    """The metrics that need no profiler: of the timing, and of what the compiler said of `built`. Raises HostError."""

    def __call__(self, bench: Bench, built: str, timed: Timed) -> Awaitable[dict[str, float]]: ...


@dataclass(frozen=True, slots=True)
class Profiler:
    """How candidates on one kind of device are profiled, and what is concluded from the metrics alone.

    `findings` are the rules that fire, the severest first; `bottleneck` says in one line what holds a candidate back.
    `in_full` collects more than the metrics, on demand, where there is more.
    """

    measured: ProfileCandidate
    uncounted: TimedMetrics
    rules: tuple[Rule, ...]
    findings: Callable[[Mapping[str, float]], tuple[Finding, ...]]
    bottleneck: Callable[[Mapping[str, float]], str]
    in_full: ProfileCandidate | None = None
