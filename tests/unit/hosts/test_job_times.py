"""When hosts work on jobs for a run: jobs at the same time count once."""

import time

import pytest

from kpd.hosts.job import job_times, note_work


def worked(monkeypatch: pytest.MonkeyPatch, *jobs: tuple[float, float]) -> list[tuple[float, float]]:
    """What is noted of jobs, in the order of their ends."""
    job_times.set([])
    for begun, end in jobs:
        monkeypatch.setattr(time, "monotonic", lambda now=end: now)
        note_work(begun, cached=False)
    return job_times.get()


@pytest.mark.parametrize(
    ("jobs", "noted"),
    [
        ([(0, 1), (1, 3)], [(0, 1), (1, 3)]),
        ([(0, 2), (1, 3)], [(0, 3)]),
        ([(1, 2), (0, 3)], [(0, 3)]),
        ([(0, 1), (2, 3), (2.5, 4)], [(0, 1), (2, 4)]),
        ([(0, 1), (2, 3), (0.5, 4)], [(0, 4)]),
    ],
)
def test_jobs_at_the_same_time_count_once(
    monkeypatch: pytest.MonkeyPatch, jobs: list[tuple[float, float]], noted: list[tuple[float, float]]
) -> None:
    assert worked(monkeypatch, *jobs) == noted


def test_what_was_answered_from_before_is_no_work() -> None:
    job_times.set([])
    note_work(0.0, cached=True)
    assert job_times.get() == []
