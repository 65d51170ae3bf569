"""What is asked of the model service and what comes back, without a word of any vendor's library."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from kpd.model.nouns import Purpose, Usage

MOST_BREAKPOINTS = 4
"""How many cache breakpoints the service takes in one request."""

Stop = Literal["end", "refusal", "context", "length"]
"""Why the answer ends: the model was done, it declined, the conversation does not fit its context window, or it went on
and on."""


@dataclass(frozen=True, slots=True)
class Part:
    """A block of the system prompt. `cached` asks the service to keep everything up to its end for five minutes."""

    text: str
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """One self-contained conversation: the system prompt, the user's turn, and who is to answer.

    `max_tokens` bounds one reply; a longer answer is asked for in pieces. `effort` is the service's word for how hard
    the model thinks (low, medium, high, xhigh, max); empty leaves it to the model. Raises ValueError for more cache
    breakpoints than the service takes.
    """

    system: tuple[Part, ...]
    user: str
    purpose: Purpose
    model: str
    max_tokens: int
    effort: str = ""

    def __post_init__(self) -> None:
        if sum(part.cached for part in self.system) > MOST_BREAKPOINTS:
            raise ValueError(f"a question has at most {MOST_BREAKPOINTS} cache breakpoints")


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole text, joined where it came in pieces, and what all calls for it used, broken ones included."""

    text: str
    stop: Stop
    usage: Usage
    calls: int


class Ledger(Protocol):
    """Who keeps the accounts. `usd` is None where the model has no known price."""

    def allow(self, usd: float | None) -> None:
        """May a call be made that will probably cost so much? Raises OverBudget."""

    def billed(self, purpose: Purpose, model: str, usage: Usage, usd: float | None, cut: bool) -> None:
        """One call has been made. `cut`: its answer broke off, so that `usage.output` counts only what came."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Who listens while an answer comes in: `say` gets its text as it arrives.

    `waits` gets the reason while nothing comes (the service is overloaded, the network is down, the stream stands
    still), and an empty text when it goes on.
    """

    say: Callable[[str], None]
    waits: Callable[[str], None]
    ledger: Ledger
