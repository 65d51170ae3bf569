"""Compares two small samples by their ranks alone: an exact test, and how far one lies above the other.

Values may be `-inf`, which stands for a missing one and is the worst; equal values share their rank.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import comb, inf, isfinite

SURE = 0.05
"""The most that chance may explain where a difference is shown; intervals have 1 − SURE."""


@dataclass(frozen=True, slots=True)
class RankTest:
    """A two-sided Mann–Whitney test of two samples, exact also with ties.

    `p` is the share of all possible ways to deal the values to two samples of these sizes in which their ranks lie as
    far apart or farther. `least` is the smallest `p` that such samples can have. `wins` is the share of pairs in which
    the value of the first sample is the larger one; a tie is half a win.
    """

    p: float
    least: float
    wins: float


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the first sample lies above the second: the median of all pairwise differences, and its interval.

    An end is None where it is not bounded: the samples are too small, or values are missing.
    """

    median: float | None
    low: float | None
    high: float | None


def rank_test(one: Sequence[float], other: Sequence[float], impossible: Collection[Sequence[float]] = ()) -> RankTest:
    """Test whether `one` and `other` are dealt at random from the same values. Neither may be empty.

    Of the ways to deal them some may have been `impossible`: for each of these the values that `one` would have had.
    """
    whole = [*one, *other]
    doubled = [2 * sum(each < value for each in whole) + whole.count(value) + 1 for value in whole]
    ways, rank = _sums(doubled, len(one)), dict(zip(whole, doubled, strict=True))
    total = comb(len(whole), len(one)) - len(impossible)
    middle = len(one) * (len(whole) + 1)  # the mean of the doubled sum of ranks
    seen = abs(sum(doubled[: len(one)]) - middle)
    far = sum(count for at, count in enumerate(ways) if abs(at - middle) >= seen)
    p = (far - sum(abs(sum(rank[value] for value in deal) - middle) >= seen for deal in impossible)) / total
    won = sum((a > b) + (a == b) / 2 for a in one for b in other)
    extremes = 2 if len(one) == len(other) else 1  # else the two ends of the sums may lie differently far from it
    return RankTest(p, extremes / total, won / (len(one) * len(other)))


def _sums(ranks: Sequence[int], size: int) -> list[int]:
    """Count, for each sum, the ways to choose `size` of the ranks with that sum."""
    most = sum(sorted(ranks)[-size:])
    ways = [[0] * (most + 1) for _ in range(size + 1)]
    ways[0][0] = 1
    for rank in ranks:
        for chosen in range(size, 0, -1):
            fewer, now = ways[chosen - 1], ways[chosen]
            ways[chosen] = [*now[:rank], *(a + b for a, b in zip(now[rank:], fewer, strict=False))]
    return ways[size]


def shift(one: Sequence[float], other: Sequence[float], impossible: int = 0) -> Shift:
    """Estimate how far `one` lies above `other` (Hodges and Lehmann), with the interval that belongs to the test.

    With `impossible` ways to deal the values the interval is rather too wide than too narrow.
    """
    pairs = sorted(0.0 if a == b else a - b for a in one for b in other)
    half = len(pairs) // 2
    outside = _outside(len(one), len(other), impossible)
    ends = (pairs[outside - 1], pairs[-outside]) if outside else (-inf, inf)
    low, high = (end if isfinite(end) else None for end in ends)
    middle = (pairs[half], pairs[-half - 1])
    return Shift(sum(middle) / 2 if all(map(isfinite, middle)) else None, low, high)


def _outside(n: int, m: int, impossible: int) -> int:
    """Return which of the sorted differences, from either end, bounds the interval; 0: there are too few for any."""
    ways, total, below = _sums(range(1, n + m + 1), n), comb(n + m, n) - impossible, 0
    for rank, count in enumerate(ways[n * (n + 1) // 2 :]):
        below += count
        if 2 * below / total > SURE:
            return rank
    return 0
