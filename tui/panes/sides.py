"""Collects the columns of the metrics table: candidate, incumbent and one more; sums up small stalls."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from kpd.model.metrics import METRICS, Metric, of_case, parted

Third = Literal["baseline", "marked"]

SMALL_STALL = 0.02
"""Stalls below this share of a warp's time, for candidate and incumbent, share a line."""


@dataclass(frozen=True)
class Sides:
    """The metrics of candidate, incumbent and a third iteration; the latter two are empty if they are no other one.

    `third_is` names the third one: the baseline, or the marked iteration. `lacking` are metrics that the candidate
    should have but has not.
    """

    mine: Mapping[str, float]
    parent: Mapping[str, float]
    third: Mapping[str, float]
    third_is: Third = "baseline"
    lacking: frozenset[str] = frozenset()

    @property
    def all(self) -> tuple[Mapping[str, float], ...]:
        return self.mine, self.parent, self.third

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for side in self.all for name in side) | self.lacking

    @cached_property
    def by_case(self) -> tuple[str, ...]:
        """The metrics that some case has of its own, in the catalogue's order."""
        with_case = {plain for plain, case in map(parted, self.names) if case}
        order = {name: at for at, name in enumerate(METRICS)}
        return tuple(sorted(with_case, key=lambda name: order.get(name, len(order))))

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The cases of the candidate, the slowest first."""
        found = {case for _, case in map(parted, self.mine) if case}
        return tuple(sorted(found, key=lambda case: (-self.mine.get(of_case("call_us", case), 0.0), case)))

    def most(self, name: str) -> float:
        """Return the larger value of candidate and incumbent."""
        return max(self.mine.get(name, 0.0), self.parent.get(name, 0.0))


def stalls(sides: Sides, metrics: Iterable[Metric]) -> tuple[Sides, list[Metric]]:
    """Sort the stalls by the candidate's share, and sum up the small ones in a metric of the returned sides."""
    ordered = sorted(metrics, key=lambda metric: -sides.mine.get(metric.name, sides.parent.get(metric.name, 0.0)))
    large = [metric for metric in ordered if sides.most(metric.name) >= SMALL_STALL]
    small = [metric for metric in ordered if metric not in large]
    if len(small) < 2:
        return sides, ordered
    label = f"{len(small)} below {100 * SMALL_STALL:g} % each"
    rest = Metric(f"stall_{len(small)}_small", label, "", "warp stalls", "down", 1)
    names = [metric.name for metric in small]

    def with_rest(side: Mapping[str, float]) -> Mapping[str, float]:
        sums = dict(side)
        for case in ("", *sides.cases):
            known = [side[of] for name in names if (of := of_case(name, case) if case else name) in side]
            if known:
                sums[of_case(rest.name, case) if case else rest.name] = sum(known)
        return sums

    mine, parent, third = map(with_rest, sides.all)
    return replace(sides, mine=mine, parent=parent, third=third), [*large, rest]
