"""What operators tell a run, ask of it and decide, and what kpd asks of them; `by` is who did it."""

from dataclasses import dataclass

from kpd.model.fact import Fact, IterationFact, RunFact
from kpd.model.nouns import Budget, Stand


@dataclass(frozen=True, slots=True)
class Steered(RunFact):
    """The operator's line `note`; the same number again replaces the text, an empty text withdraws it."""

    note: int
    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class SteeringConsumed(RunFact):
    notes: tuple[int, ...]
    iteration: int


@dataclass(frozen=True, slots=True)
class ReviewSet(RunFact):
    """Whether candidates wait for a person after `screen`; off, one that waits goes on."""

    on: bool
    by: str = ""


@dataclass(frozen=True, slots=True)
class BudgetChanged(RunFact):
    """What the run may spend from now on."""

    budget: Budget
    by: str = ""


@dataclass(frozen=True, slots=True)
class AgentChanged(RunFact):
    """Who proposes from the next iteration on, and with which model (empty: the one in config.toml)."""

    agent: str
    model: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class RuleSet(RunFact):
    """What agents are told of a rule from the next iteration on: first of all, never, or by its severity."""

    rule: str
    stand: Stand
    by: str = ""


@dataclass(frozen=True, slots=True)
class AgainAsked(RunFact):
    """Iteration `of` is to be proposed once more; `thorough`: timed with all processes that a verdict can use."""

    of: int
    thorough: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class QueueOrdered(Fact):
    """The runs that wait, in the order that they are to begin in."""

    runs: tuple[str, ...]
    by: str = ""


@dataclass(frozen=True, slots=True)
class ReviewAsked(IterationFact):
    """The candidate waits for a person to look at it."""


@dataclass(frozen=True, slots=True)
class Approved(IterationFact):
    """It may be built."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class Declined(IterationFact):
    """It is not to be built; its agent is told why."""

    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class RolledBack(IterationFact):
    """The incumbent is iteration `iteration` again; nothing is erased. `undo`: it was that before the last such act."""

    files: dict[str, str]
    by: str = ""
    undo: bool = False


@dataclass(frozen=True, slots=True)
class MemoGiven(IterationFact):
    """The operator's own words on an iteration."""

    text: str
    by: str = ""
