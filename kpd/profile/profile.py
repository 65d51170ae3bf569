"""Defines the profile of a candidate, and how one is made."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kpd.measure.bench import Bench
from kpd.model.facts.steps import Timed
from kpd.model.profiles import Advice, Finding
from kpd.profile.rules import Rule


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a candidate.

    `missing` gives the reason for each metric that could not be measured. `files` are for the iteration's folder, by
    name. `trouble` says why a vendor's profiler gave nothing; it is empty when it did, or is not needed.
    """

    metrics: dict[str, float]
    missing: dict[str, str]
    advice: tuple[Advice, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    trouble: str = ""


class ProfileCandidate(Protocol):
    """A function that profiles a timed candidate: `built` is its build job, `job` the profiler's own. Raises HostError.

    A vendor's advice takes time and is read for the incumbent alone: `advised` asks for it.
    """

    def __call__(
        self, bench: Bench, built: str, timed: Timed, job: str, say: Callable[[str], None], advised: bool = True
    ) -> Awaitable[Profile]: ...


class TimedMetrics(Protocol):
    """A function that reads the metrics that need no profiler: from the timing, and from what the compiler printed.

    `built` is the build job. Raises HostError.
    """

    def __call__(self, bench: Bench, built: str, timed: Timed) -> Awaitable[dict[str, float]]: ...


@dataclass(frozen=True, slots=True)
class Profiler:
    """The functions that profile candidates on one kind of device, and draw conclusions from the metrics.

    `findings` returns the findings of the rules that fire, the severest first; `limit` names what limits a candidate in
    two words (empty: unknown), `bottleneck` describes it in one line. `in_full` collects more than the metrics, on
    demand; it is None where there is no more.
    """

    measured: ProfileCandidate
    uncounted: TimedMetrics
    rules: tuple[Rule, ...]
    findings: Callable[[Mapping[str, float]], tuple[Finding, ...]]
    limit: Callable[[Mapping[str, float]], str]
    bottleneck: Callable[[Mapping[str, float]], str]
    in_full: ProfileCandidate | None = None
