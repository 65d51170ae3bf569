"""Defines questions to the model service and their answers, independent of a vendor's library."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from kpd.model.spending import Purpose, Usage
from kpd.model.waits import Wait

MOST_BREAKPOINTS = 4
"""How many cache breakpoints the service takes in one request."""

Stop = Literal["end", "refusal", "context", "length"]
"""Why the answer ends: the model was done, it declined, the conversation does not fit its context window, or it went on
and on."""


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A block of the system prompt. `cached` asks the service to keep the prompt up to its end for five minutes."""

    text: str
    cached: bool = False


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """One self-contained conversation: the system prompt, the user's turn, and the model that is to answer.

    `max_tokens` limits one reply; a longer answer is asked for in pieces. `effort` says how hard the model should
    think, in the service's words (low, medium, high, xhigh, max); empty leaves it to the model. `most_waits_s` is how
    many seconds may be lost to failed attempts and the pauses after them; None sets no limit. Raises ValueError for
    more cache breakpoints than the service takes.
    """

    system: tuple[PromptPart, ...]
    user: str
    purpose: Purpose
    model: str
    max_tokens: int
    effort: str = ""
    most_waits_s: float | None = None

    def __post_init__(self) -> None:
        if sum(part.cached for part in self.system) > MOST_BREAKPOINTS:
            raise ValueError(f"a question has at most {MOST_BREAKPOINTS} cache breakpoints")


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The whole text, joined where it came in pieces.

    `excess`: where the conversation does not fit, the share of the prompt that is too much, 0 where the service does
    not say.
    """

    text: str
    stop: Stop
    excess: float = 0.0


class Ledger(Protocol):
    """The account of all calls. Dollars are None where the model has no known price.

    Each call is announced before it is made and settled when it has ended, so that a call that was never settled (kpd
    was killed) is known, too.
    """

    def begin(self, purpose: Purpose, model: str, most_usd: float | None) -> int:
        """Announce a call that can cost `most_usd` at most, and return its number.

        Raises OverBudget, Unavailable.
        """

    def billed(self, call: int, usage: Usage, usd: float | None, cut: bool) -> None:
        """Settle a call that has ended. A call that the service refused, or that never reached it, used nothing.

        `cut`: the answer broke off. Then `usage` holds an estimate of what came, or of the prompt alone where nothing
        came.
        """


@dataclass(frozen=True, slots=True)
class Hooks:
    """The callbacks of a question: `say` gets the text of the answer as it arrives.

    `waits` gets the reason while nothing comes (the service is overloaded, the network is down, the stream has
    stalled), and None when it goes on. `ready` is awaited before every call and returns when one may be made, since the
    operator may have paused the run meanwhile.
    """

    say: Callable[[str], None]
    waits: Callable[[Wait | None], None]
    ledger: Ledger
    ready: Callable[[], Awaitable[None]]
