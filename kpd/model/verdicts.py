"""Defines a verdict, with all the data from which it follows."""

from dataclasses import dataclass
from math import inf
from typing import Literal

VerdictWord = Literal["faster", "slower", "same", "no_gain", "undecided"]
Rule = Literal[
    "confirmed",  # faster by enough, at two looks in a row: accepted
    "unconfirmed",  # faster by enough at the last look alone
    "too_little",  # faster, but by less than the least gain
    "slower",
    "same",  # no difference of the least gain either way
    "no_gain",  # a gain is ruled out, a loss is not
    "undecided",  # neither is ruled out: processes differ by more than that
    "worst_case",  # faster, but a case is slower than the task allows
    "held_out",  # slower on the held-out cases
    "told",  # by an older kpd: a sentence without data
]


@dataclass(frozen=True, slots=True)
class Speedup:
    """How many times as fast one program is as another, with the ends of its interval; above 1 is faster."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Gain:
    """How much less time the candidate needs than the incumbent, in percent; positive is faster."""

    pct: float
    low: float
    high: float
    confidence: float = 0.99

    @property
    def speedup(self) -> Speedup:
        """The same as a speed-up: how many times as fast the candidate is as the incumbent."""
        return Speedup(ratio_of(self.pct), ratio_of(self.low), ratio_of(self.high))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The scores on the held-out cases: the candidate's and the incumbent's (None: the candidate is the baseline).

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
class CaseGain:
    """A case's own gain; the confidence of its interval allows for the number of cases."""

    case: str
    gain: Gain


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the samples support, and the rule that decided.

    `least_pct` is the gain that was asked for, `fewest` the processes of the first of the two looks that confirm one.
    `worst_case` is the share of the incumbent's speed that each case must keep (0: none), `worst` a case that did not.
    Where that or the held-out cases decided, `before` is the rule that applied to the known cases together.
    `spread_pct` is the standard deviation of the gain between processes in percent; None in an older log. `on_average`:
    the gain is that of all calls together, of which few take back much of the others'. `told` is the sentence of an
    older kpd, else empty.
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
    fewest: int = 5
    worst_case: float = 0.0
    worst: CaseGain | None = None
    spread_pct: float | None = None
    on_average: bool = False

    @property
    def decides(self) -> bool:
        """Whether it says anything of the candidate; if not, it could not be told apart from luck and code layout."""
        return self.rule not in ("undecided", "unconfirmed") and self.word != "undecided"

    @property
    def near_miss(self) -> bool:
        """Whether the candidate is faster beyond doubt, but by less than the least gain."""
        return self.rule == "too_little"

    @property
    def lesson(self) -> str:
        """What may be learned from it, in one word: its word, near_miss, refused or undecided."""
        if not self.decides:
            return "undecided"
        if self.word == "faster" and not self.accepted:
            return "near_miss" if self.near_miss else "refused"
        return self.word

    @property
    def visible_pct(self) -> float:
        """The smallest gain in percent that these samples could have shown: half the width of the interval."""
        return max((self.gain.high - self.gain.low) / 2, self.least_pct)


def ratio_of(pct: float) -> float:
    """Convert a share of time saved, in percent, to a speed-up; all of it is infinitely fast."""
    return inf if pct >= 100 else 1 / (1 - pct / 100)
