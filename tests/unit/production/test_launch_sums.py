"""Why a kernel that is faster alone makes its program no faster, on either side of each bound."""

from dataclasses import replace

import pytest

from kpd.model.deployments import Deployment, LaunchSum
from kpd.production.deploy.launches import no_gain_reason
from kpd.text.deployments import REASONS, lines


@pytest.mark.parametrize(
    ("old", "new", "wall_us", "reason"),
    [
        ((12, 100.0), (11, 50.0), 1000.0, "launches"),
        ((0, 0.0), (0, 0.0), 1000.0, "launches"),
        ((12, 100.0), (12, 99.5), 1000.0, "cache"),
        ((12, 100.0), (12, 99.0), 1000.0, "share"),
        ((12, 100.0), (12, 91.0), 1000.0, "share"),
        ((12, 100.0), (12, 90.0), 1000.0, "overlap"),
    ],
)
def test_the_sums_say_where_a_gain_is_lost(
    old: tuple[int, float], new: tuple[int, float], wall_us: float, reason: str
) -> None:
    assert no_gain_reason((LaunchSum(*old), LaunchSum(*new)), wall_us, 1.0, 0.5) == reason
    assert reason in REASONS


@pytest.mark.parametrize(("most_pct", "reason"), [(4.9, "overlap"), (5.0, "overlap"), (5.1, "noise"), (20.0, "noise")])
def test_what_the_program_may_have_saved_is_not_said_to_be_hidden(most_pct: float, reason: str) -> None:
    assert no_gain_reason((LaunchSum(12, 100.0), LaunchSum(12, 50.0)), 1000.0, 1.0, most_pct) == reason
    assert reason in REASONS


def test_the_sums_are_told_beside_the_wall_time() -> None:
    one = Deployment(1, "r1", 2, 0.0, "deployed", launches=(LaunchSum(12, 1234.5), LaunchSum(12, 600.0)))
    assert "kernel: 1,234.5 us in 12 launches, then 600.0 us in 12" in lines("p", one)
    timed = replace(one, wall_us=98765.4)
    assert "kernel: 1,234.5 us in 12 launches, then 600.0 us in 12, in a run of 98,765 us" in lines("p", timed)
