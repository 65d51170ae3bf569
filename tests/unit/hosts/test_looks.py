"""How often a helper looks at the output of the jobs that are followed."""

import pytest

from kpd.hosts.helper.jobs import until_look


@pytest.mark.parametrize(
    ("silent", "seconds"), [(0.0, 0.01), (0.09, 0.01), (0.11, 0.011), (1.9, 0.19), (2.1, 0.2), (3600.0, 0.2)]
)
def test_a_report_is_late_by_a_tenth_of_what_it_took_and_a_fifth_of_a_second_at_most(
    silent: float, seconds: float
) -> None:
    assert until_look(silent) == pytest.approx(seconds)


def test_a_second_of_silence_takes_few_looks() -> None:
    passed, looks = 0.0, 0
    while passed < 1.0:
        passed, looks = passed + until_look(passed), looks + 1
    assert looks == 35
