"""Defines a verdict, with all the data that it follows from."""

from dataclasses import dataclass
from typing import Literal

VerdictWord = Literal["faster", "slower", "same", "inconclusive"]
Rule = Literal[
    "confirmed",  # faster by enough, at two looks in a row: accepted
    "unconfirmed",  # faster by enough at the last look alone
    "too_little",  # faster, and by less than the least gain
    "slower",
    "same",  # no difference of the least gain either way
    "no_gain",  # a gain is ruled out, a loss is not
    "noisy",  # neither is
    "held_out",  # slower on the held-out cases
    "told",  # of an older kpd, in its own words
]


@dataclass(frozen=True, slots=True)
class Gain:
    """How much less time the candidate needs than the incumbent, in percent; positive is faster."""

    pct: float
    low: float
    high: float
    confidence: float = 0.99


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What the held-out cases say: the score's name, the candidate's and the incumbent's (None: it is the baseline).

    `gain_pct` is in percent of time; `both` says that both halves of A B B A show a loss. A loss within `noise_pct`
    can be luck.
    """

    score_name: str
    score: float
    incumbent: float | None = None
    gain_pct: float = 0.0
    noise_pct: float = 0.0
    both: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the samples support, and the rule that decided.

    `least_pct` is the gain that was asked for. `before` is the rule that the known cases alone gave, where the held-out
    ones decided. `told` is an older kpd's sentence, and empty else.
    """

    word: VerdictWord
    gain: Gain
    processes: int
    accepted: bool
    rule: Rule
    least_pct: float = 0.0
    held_out: HeldOut | None = None
    before: Rule | None = None
    told: str = ""
