"""Collects the runs of a workspace for one table: the best of each task on each device."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kpd.model.headline import Headline, headline
from kpd.model.run import Run
from kpd.model.scores import unit
from kpd.model.state import State
from kpd.text.numbers import number


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run that has a baseline. `score` is its best's, with its unit, as measured then."""

    run: Run
    found: Headline | None
    score: str

    @property
    def device(self) -> str:
        return self.run.device or "unknown"

    @property
    def day(self) -> float:
        return self.run.started or self.run.queued

    @property
    def ratio(self) -> float:
        """The speed-up over the run's own baseline; 1 where there is none."""
        return self.found.speedup.ratio if self.found is not None else 1.0


Best = Mapping[tuple[str, str], tuple[ReportedRun, int]]
"""By task and device the run with the greatest speed-up over its own baseline, and the number of runs."""


def reported(state: State) -> tuple[ReportedRun, ...]:
    """Return all runs that have a baseline, the newest first."""
    runs = (run for run in state.runs.values() if run.baseline is not None)
    found = [ReportedRun(run, headline(run), _score(state, run)) for run in runs]
    return tuple(sorted(found, key=lambda one: -one.day))


def devices(runs: Sequence[ReportedRun]) -> tuple[str, ...]:
    return tuple(sorted({one.device for one in runs}))


def best(runs: Sequence[ReportedRun]) -> Best:
    """Return the best run of each task on each device, by task."""
    by: dict[tuple[str, str], list[ReportedRun]] = defaultdict(list)
    for one in runs:
        by[one.run.task, one.device].append(one)
    return {key: (max(by[key], key=lambda one: one.ratio), len(by[key])) for key in sorted(by)}


def _score(state: State, run: Run) -> str:
    card = state.tasks.get(run.task)
    best = run.best
    return f"{number(best.score)} {unit(card.score if card else 'us')}" if best and best.score is not None else ""
