"""GPU hours of allocations by run."""

from dataclasses import replace

import pytest

from kpd.hosts.gpu_hours import Lent
from kpd.hosts.shares import by_run
from kpd.model.budget import Budget
from kpd.model.causes import NothingLeft
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.model.status import Done

HOUR = 3600.0
LENT = Lent("c", "7", "me", "a", 2, begun=0.0, ends=10 * HOUR)


def run(name: str, *spans: tuple[float, float | None], host: str = "c", started: float | None = None) -> Run:
    """A run whose iterations last from and until these hours."""
    iterations = tuple(
        Iteration(
            number, "claude", 0, since * HOUR, host=host,
            **({} if until is None else {"status": Done("skipped", NothingLeft(Told("")), until * HOUR)}),
        )
        for number, (since, until) in enumerate(spans)
    )  # fmt: skip
    begun = started if started is not None else spans[0][0]
    return Run(name, "t", "claude", host, Budget(), 0.0, started=begun * HOUR, iterations=iterations)


@pytest.mark.parametrize(
    ("runs", "hours"),
    [
        ((run("r1", (1, 2)),), {"r1": 2.0}),
        ((run("r1", (1, 2), started=0.5),), {"r1": 3.0}),
        ((run("r1", (1, 3), (1, 2)),), {"r1": 4.0}),
        ((run("r1", (1, 3)), run("r2", (2, 4))), {"r1": 3.0, "r2": 3.0}),
        ((run("r1", (1, 2)), run("r2", (1, 2), host="d")), {"r1": 2.0}),
        ((run("r1", (9, None)),), {"r1": 2.0}),
        ((run("r1", (11, None)),), {}),
    ],
)
def test_the_time_of_an_allocation_is_shared_by_the_runs_at_work_there(
    runs: tuple[Run, ...], hours: dict[str, float]
) -> None:
    assert by_run([LENT], runs, 20 * HOUR) == pytest.approx(hours)


def test_a_run_in_two_allocations_has_of_each_what_it_was_at_there() -> None:
    first, second = run("r1", (1, 3)), run("r1", (2, 3), host="c.2")
    both = replace(first, iterations=(*first.iterations, *second.iterations))
    assert by_run([LENT, replace(LENT, host="c.2", gpus=1)], [both], 20 * HOUR) == {"r1": 2 * 2.0 + 1 * 1.0}


def test_only_what_an_allocation_has_lasted_counts() -> None:
    works = run("r1", (1, None))
    assert by_run([LENT], [works], 3 * HOUR) == {"r1": 4.0}
    ended = replace(LENT, ended=2 * HOUR)
    assert by_run([ended, replace(LENT, job="8", begun=4 * HOUR)], [works], 5 * HOUR) == {"r1": 4.0}
