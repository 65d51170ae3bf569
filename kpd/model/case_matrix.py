"""Computes the matrix of a run: how many times as fast as the baseline each candidate is in each case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log

from kpd.model.facts.steps import Timed
from kpd.model.headline import lineage, product
from kpd.model.run import Run
from kpd.model.verdicts import Speedup


@dataclass(frozen=True, slots=True)
class CaseSpeedups:
    """One case: the speed-up over the baseline of every candidate that was timed in it, by iteration."""

    case: str
    weight: float
    speedups: dict[int, Speedup]

    @property
    def best(self) -> int:
        """The iteration that is fastest in this case."""
        return max(self.speedups, key=lambda number: self.speedups[number].ratio)

    def ratio(self, number: int | None) -> float:
        """Return how many times as fast as the baseline an iteration is; 1 where it is unknown, and for itself."""
        found = self.speedups.get(number) if number is not None else None
        return 1.0 if found is None else found.ratio


def dispatch(rows: Sequence[CaseSpeedups], incumbent: int | None) -> float | None:
    """Compute how many times as fast as the incumbent a dispatch table would be, with the best candidate of each case.

    It is the weighted geometric mean over the cases, and an upper limit: the best of many looks a little too good. The
    baseline is one of them. None without cases.
    """
    gains = [
        (row.weight, log(max(row.ratio(row.best), row.ratio(incumbent), 1.0) / row.ratio(incumbent))) for row in rows
    ]
    total = fsum(weight for weight, _ in gains)
    return exp(fsum(weight * gain for weight, gain in gains) / total) if total else None


def case_matrix(run: Run, timed: Mapping[int, Timed]) -> tuple[CaseSpeedups, ...]:
    """Compute a row for each case; `timed` has the times of the run's iterations by their numbers.

    A candidate's speed-up is the product of the paired ones along its line, so no times of different contests are
    compared. A candidate is left out of a case where one of these has no interval, as an older kpd kept none, or is of
    quick processes.
    """
    rows: dict[str, CaseSpeedups] = {}
    for it in run.iterations:
        if it.number not in timed or it.verdict is None or it.outcome in (None, "baseline") or it.confirms is not None:
            continue
        weights = {case.case: case.weight for case in timed[it.number].cases}
        for case, found in case_speedups(run, it.number, timed).items():
            rows.setdefault(case, CaseSpeedups(case, weights[case], {})).speedups[it.number] = found
    return tuple(rows.values())


def case_speedups(run: Run, number: int, timed: Mapping[int, Timed]) -> dict[str, Speedup]:
    """Chain the speed-ups of iteration `number` over the baseline, by case; without those that are not known."""
    line = [one.number for one in lineage(run, number) if one.outcome != "baseline"]
    chains = {}
    for case in timed[number].cases if number in timed else ():
        steps = [_speedup(timed.get(one), case.case) for one in line]
        known = [one for one in steps if one is not None]
        if len(known) == len(steps) and (found := product(known)) is not None:
            chains[case.case] = found
    return chains


def _speedup(timed: Timed | None, name: str) -> Speedup | None:
    """Return the paired speed-up in a case over the iteration's incumbent; None where it is not known.

    By a clock that it may have changed it may have claimed any gain in a case, and a larger loss in another one.
    """
    if timed is None or timed.quick:
        return None
    case = next((case for case in timed.cases if case.case == name), None)
    gain = case.gain if case is not None else None
    return gain.speedup if gain is not None else None
