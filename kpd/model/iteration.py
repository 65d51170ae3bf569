"""Defines an iteration, one attempt inside a run, as a frozen value."""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model.agents import BASELINE
from kpd.model.causes import IterationCause
from kpd.model.flags import Flag
from kpd.model.hosts import DeviceRef
from kpd.model.sanitizer import ToolReport
from kpd.model.session import AgentSession
from kpd.model.spending import NOTHING, Spend
from kpd.model.status import STEPS, Done, IterationStatus, Outcome, StepName, Stepping
from kpd.model.verdicts import Verdict

COUNTED: tuple[Outcome, ...] = ("accepted", "rejected", "failed", "held")
"""Outcomes that use up a run's budget; infrastructure trouble, skips and interruptions do not."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the agent expects before anything is measured: a metric, its direction, a gain in percent."""

    metric: str
    direction: Literal["up", "down"]
    gain_pct: float | None = None


PersonsAnswer = Literal["", "waits", "approved", "declined"]
"""Whether a person is asked, and that person's answer; empty where nobody is asked."""
Confirming = Literal["", "end", "decision", "floor"]
"""Why an iteration is measured against the baseline: the run of an accepted candidate ends, a person brought it back,
or it is the baseline itself, for the noise floor of a further device."""


@dataclass(frozen=True, slots=True)
class Remeasure:
    """A wish to measure iteration `of` once more; `thorough`: with all processes that a verdict can use.

    It is measured against the incumbent, or, where `confirming` says why, against the baseline.
    """

    of: int
    thorough: bool
    by: str
    confirming: Confirming = ""


@dataclass(frozen=True, slots=True)
class Override:
    """A person's acceptance of an iteration against its verdict; `reason` is in that person's words, or empty."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One attempt inside a run, in brief; its metrics, findings and files are read on demand (see `detail`).

    `edit` names the operator's edit that it measures, a folder in the run's `edits/`. `memo_given`: a person has
    written its memo. `aims` are the rules whose findings its agent meant to remedy; `tune` are parameters that the
    agent was unsure of, for a sweep to explore. `again` is the iteration whose files it measures once more, `thorough`
    with all processes; `confirming` says why it does so against the baseline. `review` says whether the candidate waits
    for a person, or what that person decided; empty where none was asked. `hold` says the same of a winner that was
    held because of its `flags`. `session` is that of a coding agent. `provisional`: it was accepted, and
    it has not passed its last checks; `sanitized` is what their tools saw. `lane` is the run's lane that is at
    it, on `device` of `host`.
    """

    number: int
    agent: str
    parent: int
    started: float
    status: IterationStatus = field(default_factory=Stepping)
    memo: str = ""
    memo_given: bool = False
    edit: str = ""
    point: dict[str, str] = field(default_factory=dict)
    expected: Expectation | None = None
    aims: tuple[str, ...] = ()
    tune: dict[str, tuple[str, ...]] = field(default_factory=dict)
    spend: Spend = NOTHING
    score: float | None = None
    verdict: Verdict | None = None
    override: Override | None = None
    roofline_pct: float | None = None
    bottleneck: str = ""
    rules: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    again: int | None = None
    thorough: bool = False
    confirming: Confirming = ""
    review: PersonsAnswer = ""
    hold: PersonsAnswer = ""
    session: AgentSession | None = None
    provisional: bool = False
    sanitized: tuple[ToolReport, ...] = ()
    lane: int = 0
    device: str = ""
    host: str = ""

    @property
    def under_way(self) -> Stepping | None:
        """The step under way and its data; None once the iteration has ended."""
        return self.status if isinstance(self.status, Stepping) else None

    @property
    def step(self) -> StepName | None:
        """The step under way; None before the first one, and once it has ended."""
        return self.status.step if isinstance(self.status, Stepping) else None

    @property
    def prepared(self) -> bool:
        """Whether its candidate was proposed and built: what it is still to do, it does on its device, or is short."""
        return self.step is not None and STEPS.index(self.step) > STEPS.index("build")

    @property
    def outcome(self) -> Outcome | None:
        return self.status.outcome if isinstance(self.status, Done) else None

    @property
    def cause(self) -> IterationCause | None:
        """Why it ended; None while it is under way."""
        return self.status.cause if isinstance(self.status, Done) else None

    @property
    def ended(self) -> float | None:
        return self.status.at if isinstance(self.status, Done) else None

    @property
    def steps(self) -> tuple[StepName, ...]:
        """The steps it goes through: a review only where a person is asked, no profile of what was profiled before."""
        left_out: tuple[StepName, ...] = () if self.review or self.step == "review" else ("review",)
        left_out += ("profile", "explain") if self.confirming else ()
        return tuple(step for step in STEPS if step not in left_out)

    @property
    def place(self) -> DeviceRef:
        """The host and the device that it is measured on."""
        return self.host, self.device

    @property
    def held(self) -> bool:
        """Whether it won, but a person has to look at its flags before it becomes the incumbent."""
        return self.hold == "waits"

    @property
    def unsanitized(self) -> bool:
        """Whether its last checks are still to come."""
        return self.provisional and not self.sanitized

    @property
    def confirms(self) -> int | None:
        """The iteration that it measures against the baseline; None where it does something else."""
        return self.again if self.confirming else None

    @property
    def measures_floor(self) -> bool:
        """Whether it measures the baseline against itself, for the noise floor of its device."""
        return self.confirming == "floor"

    @property
    def near_miss(self) -> bool:
        """Whether it was rejected only because its gain, beyond doubt, is below the least one."""
        return self.outcome == "rejected" and self.verdict is not None and self.verdict.near_miss

    @property
    def counts(self) -> bool:
        """Whether it uses up its run's budget: what was measured once more on request, and the baseline, do not."""
        return self.outcome in COUNTED and self.again is None and self.agent != BASELINE
