"""What each command takes: the fields that a client may send, checked by the codec."""

from dataclasses import dataclass

from kpd.engine.terms import Direction
from kpd.model.nouns import Stand
from kpd.workspace.specs import BudgetSpec
from kpd.workspace.strict import Count, NotNegative, Percent, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArgs(BudgetSpec):
    """A budget given here goes before the task's, which goes before config.toml's."""

    task: Text
    agent: str | None = None
    host: str | None = None
    approve: bool | None = None


@dataclass(frozen=True, slots=True)
class OnRun:
    run: str | None = None


@dataclass(frozen=True, slots=True)
class SteerArgs:
    text: str = ""
    note: int | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewArgs:
    on: bool
    run: str | None = None


@dataclass(frozen=True, slots=True)
class ApproveArgs:
    """Without an iteration, the only one that waits."""

    iteration: str | None = None


@dataclass(frozen=True, slots=True)
class DeclineArgs(ApproveArgs):
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AgainArgs:
    iteration: str
    thorough: bool = False


@dataclass(frozen=True, slots=True)
class EditArgs:
    """The text of editable files, by path."""

    files: dict[str, str]
    run: str | None = None


@dataclass(frozen=True, slots=True)
class AcceptArgs:
    iteration: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RollbackArgs:
    iteration: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class MemoArgs:
    iteration: str
    text: str


@dataclass(frozen=True, slots=True)
class ProfileArgs:
    iteration: str


@dataclass(frozen=True, slots=True)
class CheckHostsArgs:
    host: str | None = None


@dataclass(frozen=True, slots=True)
class OnHost:
    host: str


@dataclass(frozen=True, slots=True)
class TrustArgs:
    host: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class BudgetArgs:
    """What is None stays as it is. No limit in dollars, and no score to stop at, is 0."""

    run: str | None = None
    iterations: Count | None = None
    patience: Count | None = None
    min_gain_pct: Percent | None = None
    stop_score: NotNegative | None = None
    usd: NotNegative | None = None
    fix_attempts: Count | None = None


@dataclass(frozen=True, slots=True)
class AgentArgs:
    """What is None stays as it is; an empty model is config.toml's."""

    run: str | None = None
    agent: Text | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class RuleArgs:
    rule: Text
    stand: Stand
    run: str | None = None


@dataclass(frozen=True, slots=True)
class MoveArgs:
    run: str
    to: Direction


@dataclass(frozen=True, slots=True)
class ShutdownArgs:
    """Steps under way come to their end before; `now`, they are cut."""

    now: bool = False
