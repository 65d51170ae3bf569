"""Defines what the steps of an iteration find: one fact per step."""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model.audits import AuditSummary
from kpd.model.fact import StepFact
from kpd.model.flags import Flag
from kpd.model.iteration import Expectation
from kpd.model.profiles import Advice, CaseTime, Change, Finding
from kpd.model.status import StepName
from kpd.model.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Proposed(StepFact):
    """A candidate, whose files (path → sha256) are in the iteration's folder. `point` is a sweep's parameters.

    `aims` and `tune` are as in `Iteration`.
    """

    files: dict[str, str]
    memo: str
    expected: Expectation | None = None
    point: dict[str, str] = field(default_factory=dict)
    aims: tuple[str, ...] = ()
    tune: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Screened(StepFact):
    """What looks suspicious in the source text."""

    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewed(StepFact):
    """The end of a review in which a person let the candidate pass."""


@dataclass(frozen=True, slots=True)
class Staged(StepFact):
    tree: str


@dataclass(frozen=True, slots=True)
class Built(StepFact):
    """A build. `job` names the build job on the host, whose `out/` folder holds the object.

    `hashes` are the sha256 of the files in that folder, by name.
    """

    job: str
    cached: bool
    flags: str = ""
    warnings: int = 0
    hashes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checked(StepFact):
    """A passed check. `worst` is the largest error as a multiple of the tolerance, at `where`.

    `truth` is whose outputs the candidate's were compared with. `drawn` is the number of sizes that no case names,
    `unchecked` those among them that were not asked of the candidate: the task's own kernel gives no right results
    there, or the harness allows no such size.
    """

    comparisons: int
    worst: float
    where: str = ""
    truth: Literal["oracle", "baseline"] = "oracle"
    drawn: int = 0
    unchecked: int = 0


@dataclass(frozen=True, slots=True)
class Timed(StepFact):
    """The times. `score` is the geometric mean of the cases' medians; `samples` is the sha256 of timing.json.

    They are of `quick` processes, by a clock that the kernels may have changed, where these rejected it.
    """

    score: float
    processes: int
    cases: tuple[CaseTime, ...]
    retaken: int = 0
    roofline_pct: float | None = None
    samples: str = ""
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Judged(StepFact):
    """A verdict; `audited` is what the audits of a gain found, None where nothing was audited.

    `flags` are those of the object of a candidate that won, and `repeats` its calls on inputs that did not change, and
    on new ones, all of which gave the right results, and the same ones if the task asks for that. `superseded_by` had
    become the incumbent before the audits, which were left out then: it is measured against that one, or not accepted.
    """

    verdict: Verdict
    audited: AuditSummary | None = None
    flags: tuple[Flag, ...] = ()
    repeats: int = 0
    superseded_by: int | None = None


@dataclass(frozen=True, slots=True)
class Profiled(StepFact):
    """The profile. `missing` says why a metric could not be had; `advice` is a vendor's profiler's, best first."""

    metrics: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)
    advice: tuple[Advice, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained(StepFact):
    """The findings. `changes` are the metrics that differ from the incumbent's, the largest change first."""

    bottleneck: str
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()


STEP_OF: dict[type[StepFact], StepName] = {
    Proposed: "propose", Screened: "screen", Reviewed: "review", Staged: "stage", Built: "build", Checked: "check",
    Timed: "time", Judged: "judge", Profiled: "profile", Explained: "explain",
}  # fmt: skip
