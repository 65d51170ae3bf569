"""Divides the GPU hours of allocations among the runs that were at work there: pure, of runs and allocations."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf

from kpd.hosts.gpu_hours import Lent
from kpd.model.run import Run


def by_run(lent: Iterable[Lent], runs: Iterable[Run], now: float) -> dict[str, float]:
    """Return the GPU hours of each run that had some, by its id.

    The time of an allocation is shared by the runs that were at an iteration there; what is left is nobody's.
    """
    found: dict[str, float] = {}
    on: dict[str, list[Run]] = {}
    for run in runs:
        for host in {run.host, *(it.host for it in run.iterations)}:
            on.setdefault(host, []).append(run)
    for one in lent:
        end = min(now, one.ends if one.ended is None else one.ended)
        spans = [(run.id, *span) for run in on.get(one.host, ()) for span in _at_work(run, one.host, one.begun, end)]
        times = sorted({time for _, since, until in spans for time in (since, until)})
        for since, until in pairwise(times):
            here = {run for run, begun, ended in spans if begun <= since and until <= ended}
            for run_id in here:
                found[run_id] = found.get(run_id, 0.0) + one.gpus * (until - since) / 3600 / len(here)
    return found


def _at_work(run: Run, host: str, since: float, until: float) -> Iterator[tuple[float, float]]:
    """Yield the times within `since` and `until` in which a run was at an iteration there, preparation included."""
    for it in run.iterations:
        if it.host != host:
            continue
        begun = run.started if it is run.iterations[0] and run.started is not None else it.started
        span = max(begun, since), min(inf if it.ended is None else it.ended, until)
        if span[0] < span[1]:
            yield span
