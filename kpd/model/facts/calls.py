"""Defines what is recorded of the calls to a model in an iteration, and of answers that cannot be used."""

from dataclasses import dataclass

from kpd.model.fact import IterationFact
from kpd.model.spending import Purpose, Usage


@dataclass(frozen=True, slots=True)
class Asked(IterationFact):
    """A call to a model that is about to be made; the fields are those of `OpenCall`. Its `Billed` ends it."""

    call: int
    purpose: Purpose
    model: str
    most_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Billed(IterationFact):
    """The end of a call to a model: the tokens used, and the price in US dollars where that is known.

    A `cut` call broke off in the middle: its output is what had come by then, and the service may bill more for it. A
    call whose end no daemon saw is `unseen`: it counts with the most that it could have cost, and no tokens.
    """

    purpose: Purpose
    model: str
    usage: Usage
    usd: float | None = None
    cut: bool = False
    call: int = 0
    unseen: bool = False

    @property
    def refused(self) -> bool:
        """Whether nothing was answered, so that nothing is to be paid."""
        return not self.usage.total and not self.cut


@dataclass(frozen=True, slots=True)
class Unusable(IterationFact):
    """An answer of an agent that cannot be used; `message` says why.

    The agent is told, and asked again, once for each question.
    """

    message: str
