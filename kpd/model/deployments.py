"""Defines what became of a run's winner in its production program."""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model.spending import NOTHING, Spend
from kpd.model.verdicts import Verdict

Phase = Literal[
    "gate", "integrate", "begin", "baseline", "put", "build", "verify", "fix", "time", "commit", "restore", "recheck"
]
"""The phases of a deployment in their order; `fix` leads back to `put`, the last two are those of one taken back."""

Forbidden = Literal[
    "not_found", "no_kernel", "ambiguous", "not_the_baseline", "other_file", "signature", "exported", "emptied",
    "early_return", "if_0", "unreadable", "other_kernel", "directive", "other_code", "same",
]  # fmt: skip
"""What an integration may not do, or why there is none."""

DeployCause = Literal[
    "gate", "no_check", "forbidden", "not_approved", "stale_binary", "program_fails", "unsteady", "build", "touched",
    "same_binary", "wrong_result", "run_fails", "no_gain", "conflict", "taken", "ended", "host", "cut",
    "asked", "later", "forgotten", "corrupt",
]  # fmt: skip
"""Why a deployment did not stay; `cut`: the process that made it ended before it said so."""

NoGainReason = Literal["launches", "cache", "share", "noise", "overlap"]
"""Why a kernel that is faster alone makes its program no faster.

It is launched another number of times; it is not faster there, beside other data; its launches are too small a part of
the program; its runs differ by more than they save; or what they save is hidden behind other work.
"""


@dataclass(frozen=True, slots=True)
class LaunchSum:
    """The kernel's launches in one run of a program: how many, and the sum of their times on the GPU."""

    count: int
    us: float


Lesson = Literal["deployed", "rolled back in production", "short circuit"]
"""What memory keeps of a deployment: it stays; it was taken back; the gain alone was too small to try it."""

OF_THE_CANDIDATE: tuple[DeployCause, ...] = (
    "build", "touched", "same_binary", "wrong_result", "run_fails", "no_gain"
)  # fmt: skip
"""Causes that say something of the candidate, and not of its host, its program or a person."""

NOT_THE_CANDIDATES: tuple[DeployCause, ...] = (
    "host", "taken", "ended", "program_fails", "unsteady", "stale_binary", "cut"
)  # fmt: skip
"""Causes that say nothing of the candidate: it is worth another try as it is."""

FixKind = Literal["compile", "verify", "runtime"]
"""What is mended: the program does not build, gives another result, or fails."""

DeployState = Literal["open", "deployed", "gated", "refused", "rolled_back", "failed"]


@dataclass(frozen=True, slots=True)
class Deployment:
    """One deployment of a project, or a rollback of one. Times are Unix times of this machine.

    `alone` is the least gain in percent that the run's verdicts are sure of, `verdict` that of the whole program.
    `phase` is the last one that began. `change` is the host's id of the change; `shas` are the hashes of the files
    that it left, by path. `of` is the deployment that a rollback takes back, and `taken_back` the rollback that did.
    `about` is what the cause is about: a name, a file, the last words of a build. `rechecked` says whether the
    restored program was run again and gave its old result. `fixes` counts the mended files that were asked
    for, by kind, and `spend` is what they cost. `wall_us` is the median time of a run of the old program, `launches`
    are those of one run of the old program and of the new one, where they could be observed, and `reason` is what they
    say where there is no gain. `remembered` says that the task's memory has it, if it is of use there. While the change
    waits for a person elsewhere, `asks` is the hash of its diff; `answered_by` approved or declined it. `unattended`:
    nobody sits before the process.
    """

    number: int
    run: str
    iteration: int
    at: float
    state: DeployState = "open"
    phase: Phase | None = None
    cause: DeployCause | None = None
    forbidden: Forbidden | None = None
    about: str = ""
    alone: float | None = None
    verdict: Verdict | None = None
    change: str = ""
    shas: dict[str, str] | None = None
    of: int | None = None
    taken_back: int | None = None
    by: str = ""
    ended: float | None = None
    rechecked: bool | None = None
    fixes: dict[FixKind, int] = field(default_factory=dict)
    spend: Spend = NOTHING
    wall_us: float | None = None
    launches: tuple[LaunchSum, LaunchSum] | None = None
    reason: NoGainReason | None = None
    remembered: bool = False
    asks: str = ""
    answered_by: str = ""
    unattended: bool = False

    @property
    def withdrawn(self) -> bool:
        """Whether a rollback has taken it back, or it is one that has done so."""
        return self.taken_back is not None or (self.of is not None and self.state == "deployed")


@dataclass(frozen=True, slots=True)
class DeploymentCard:
    """A deployment of a project as the daemon last read it.

    `cut`: it is open, and no process works on it any more.
    """

    project: str
    deployment: Deployment
    cut: bool = False

    @property
    def key(self) -> str:
        return f"{self.project}#{self.deployment.number}"

    @property
    def waits(self) -> bool:
        """Whether a person has to approve its change."""
        return self.deployment.state == "open" and bool(self.deployment.asks) and not self.cut

    @property
    def ended(self) -> bool:
        return self.deployment.state != "open" and not self.deployment.withdrawn

    @property
    def left_changed(self) -> bool:
        """Whether the program may be left as kpd does not want it."""
        now = self.deployment
        return now.rechecked is False or (now.state == "failed" and now.cause in ("conflict", "corrupt"))

    @property
    def wants_person(self) -> bool:
        return self.cut or self.waits or self.left_changed

    def differs(self, before: "DeploymentCard | None") -> bool:
        """Return whether something has happened since `before`; what a phase has noted meanwhile is told at its end."""
        return before is None or self._course != before._course

    @property
    def _course(self) -> tuple[object, ...]:
        now = self.deployment
        return self.cut, now.at, now.state, now.phase, now.fixes, now.taken_back, now.asks


def lesson(one: Deployment) -> Lesson | None:
    """Return what is learned of a candidate from a deployment, or a rollback, that has ended; None for nothing."""
    if one.state == "deployed":
        return "deployed" if one.of is None else "rolled back in production"
    if one.state == "rolled_back" and one.cause in OF_THE_CANDIDATE:
        return "rolled back in production"
    return "short circuit" if one.state == "gated" else None
