"""Defines usage and cost of calls to models."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Purpose = Literal[
    "propose", "again", "continue", "compile_fix", "runtime_fix", "compact", "harness", "toolsmith", "fix", "observe"
]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of calls to a model: `input` counts those neither written to the prompt cache nor read from it."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
        )

    @property
    def total(self) -> int:
        return self.input + self.cache_write + self.cache_read + self.output


@dataclass(frozen=True, slots=True)
class Spend:
    """What calls to models came to, in US dollars; `unpriced` counts the calls whose price is not known.

    `uncounted` are those without tokens: nobody saw their end, or an agent does not report them. `inexact` are those
    with a price that broke off, and may cost more, or whose end nobody saw: these count with the most they can cost.
    """

    calls: int = 0
    usage: Usage = Usage()
    usd: float = 0.0
    unpriced: int = 0
    uncounted: int = 0
    inexact: int = 0

    def with_call(self, usage: Usage, usd: float | None, exact: bool = True) -> "Spend":
        unpriced, uncounted = self.unpriced + (usd is None), self.uncounted + (usage.total == 0)
        inexact = self.inexact + (usd is not None and not exact)
        return Spend(self.calls + 1, self.usage + usage, self.usd + (usd or 0.0), unpriced, uncounted, inexact)


NOTHING = Spend()


def dollars(usd: float) -> str:
    """Format an amount as `$12.34`. Below 10 cents it has four decimals; what would round to zero is `<$0.0001`."""
    if 0 < usd < 0.00005:
        return "<$0.0001"
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"


def day_of(at: float) -> str:
    """Return the day (2026-11-21, UTC) to which money spent at the Unix time `at` is counted."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call to a model that is under way; the most that it can cost counts as spent already.

    `number` counts the calls of its run from 1 on; `most_usd` is None where the model has no known price.
    """

    number: int
    iteration: int
    purpose: Purpose
    model: str
    most_usd: float | None = None
