"""Computes the matrix of a run: how many times as fast as the baseline each candidate is in each case."""

from collections.abc import Mapping
from dataclasses import dataclass

from kpd.model.headline import lineage, product
from kpd.model.run import Run
from kpd.model.steps import Timed
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


def case_matrix(run: Run, timed: Mapping[int, Timed]) -> tuple[CaseSpeedups, ...]:
    """Compute a row for each case; `timed` has the times of the run's iterations by their numbers.

    A candidate's speed-up is the product of the paired ones along its line, so no times of different contests are
    compared. A candidate is left out of a case where one of these has no interval: an older kpd kept none.
    """
    rows: dict[str, CaseSpeedups] = {}
    for it in run.iterations:
        if it.number not in timed or it.outcome in (None, "baseline") or it.confirms is not None:
            continue
        line = [one.number for one in lineage(run, it.number) if one.outcome != "baseline"]
        for case in timed[it.number].cases:
            steps = [_speedup(timed.get(number), case.case) for number in line]
            known = [one for one in steps if one is not None]
            if len(known) == len(steps) and (found := product(known)) is not None:
                row = rows.setdefault(case.case, CaseSpeedups(case.case, case.weight, {}))
                row.speedups[it.number] = found
    return tuple(rows.values())


def _speedup(timed: Timed | None, name: str) -> Speedup | None:
    """Return the paired speed-up in a case over the iteration's incumbent; None where it is not known."""
    case = next((case for case in timed.cases if case.case == name), None) if timed is not None else None
    gain = case.gain if case is not None else None
    return gain.speedup if gain is not None else None
