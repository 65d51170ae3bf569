"""Defines the answers of the daemon beyond the state, as frozen values."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.case_matrix import CaseSpeedups
from kpd.model.detail import Detail
from kpd.model.events import Event
from kpd.model.iteration import Iteration
from kpd.model.notices import Notice
from kpd.model.profiles import Severity
from kpd.model.spending import Spend
from tui.model.outline import TreePosition

What = Literal["show", "diff", "events", "cost", "rules", "acts", "diary", "texts", "cases"]


@dataclass(frozen=True, slots=True)
class DetailQuery:
    """A question about a place; `against` is what a diff compares it with, None for its parent."""

    what: What
    at: TreePosition
    against: TreePosition | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why there is no answer."""

    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Show:
    """One iteration in full, beside the one it had to beat and the baseline."""

    iteration: Iteration
    detail: Detail
    parent: Detail | None = None
    baseline: Detail | None = None
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A file of an iteration; `cut` says that this is only its beginning."""

    name: str
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff and what it compares."""

    text: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The money spent on models, by purpose and by model; `cut` counts the calls that broke off, `unseen` those
    whose end nobody saw.
    """

    purposes: dict[str, Spend]
    models: dict[str, Spend]
    cut: int = 0
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """A rule and its record in all runs: candidates it fired on, iterations that aimed at it, and their gains."""

    id: str
    fired: int
    tried: int
    accepted: int
    median_gain_pct: float | None = None
    severity: Severity = "low"
    finding: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class BestCases:
    """The matrix of a run's cases and candidates.

    `dispatch` is how many times as fast as the incumbent a program with the best of each case would be at most.
    """

    cases: tuple[CaseSpeedups, ...]
    dispatch: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadedDetails:
    """The answers for one iteration, `cost` and `best_cases` for the run; None where there is no answer yet.

    `marked` is the marked iteration in full; `acts` are what operators did in the run, among its newest events; `diary`
    are the newest lines of the daemon's own log; `texts` are those files in TEXTS that the iteration has.
    """

    show: Show | Problem | None = None
    diff: Diff | Problem | None = None
    events: tuple[Event, ...] | Problem | None = None
    cost: Cost | Problem | None = None
    rules: tuple[RuleRecord, ...] | Problem | None = None
    acts: tuple[Event, ...] | Problem | None = None
    marked: Show | Problem | None = None
    diary: tuple[Notice, ...] | Problem | None = None
    texts: tuple[Text, ...] | Problem | None = None
    best_cases: BestCases | Problem | None = None

    @property
    def detail(self) -> Detail:
        return self.show.detail if isinstance(self.show, Show) else Detail()


Answer = (
    Show
    | Diff
    | Cost
    | Problem
    | BestCases
    | tuple[Event, ...]
    | tuple[RuleRecord, ...]
    | tuple[Notice, ...]
    | tuple[Text, ...]
)
