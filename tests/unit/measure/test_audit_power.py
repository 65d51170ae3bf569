"""How often audits refuse a gain that is not there, and one that is: simulated, on quiet machines and busy ones."""

from collections import Counter
from dataclasses import replace
from math import log

import pytest

from kpd.measure.audits import refuse_gain
from kpd.model.faults import GainNotHeld
from tests.support.measure.simulated_audits import Machine, Truth, audited, honest, only_in_contests

NOISES = [Machine(*noise) for noise in ((0.01, 0.01), (0.05, 0.02), (0.2, 0.05), (0.4, 0.2))]
UNSTEADY = Machine(0.01, 0.005, apart=0.005, odd=0.05)
"""As a virtual machine beside others: its processes differ by 0.5 %, and one audit in twenty by far more."""
TWO_SPEEDS = replace(UNSTEADY, slow=0.5)


def outcomes(machine: Machine, truth: Truth, contests: int = 60) -> Counter[str]:
    """Count what becomes of gains that a contest accepts; "audits" are as many as were taken."""
    counted: Counter[str] = Counter()
    for found, claimed in audited(machine, truth, contests):
        fault = refuse_gain(found, claimed)
        counted["all"] += 1
        counted["refused" if isinstance(fault, GainNotHeld) else "in doubt" if fault else "accepted"] += 1
        counted["audits"] += found.times or 1
    return counted


@pytest.mark.parametrize("gain_pct", [2.0, 10.0, 50.0])
@pytest.mark.parametrize("machine", NOISES)
def test_a_gain_that_is_there_is_hardly_ever_refused(gain_pct: float, machine: Machine) -> None:
    """Where calls differ by far more than the gain, eleven audits leave it in doubt, at times."""
    found = outcomes(machine, honest(log(1 - gain_pct / 100)))
    assert found["refused"] <= 2
    assert 100 * machine.of_a_call > 3 * gain_pct or found["in doubt"] <= 2


@pytest.mark.parametrize(("gain_pct", "shares"), [(10.0, (1.0, 1.0, 0.9, 0.6)), (45.0, (1.0, 1.0, 1.0, 0.99))])
def test_a_gain_that_only_the_contest_sees_is_refused_the_more_often_the_quieter_it_is(
    gain_pct: float, shares: tuple[float, ...]
) -> None:
    for machine, least in zip(NOISES, shares, strict=True):
        found = outcomes(machine, only_in_contests(log(1 - gain_pct / 100)))
        assert found["all"] - found["accepted"] >= least * found["all"], machine


@pytest.mark.parametrize("gain_pct", [1.2, 1.5, 5.0])
@pytest.mark.parametrize("slow", [0.0, 0.25, 0.5, 0.75])
def test_small_gains_that_are_there_are_accepted_where_processes_run_at_one_of_two_speeds(
    gain_pct: float, slow: float
) -> None:
    found = outcomes(replace(UNSTEADY, slow=slow), honest(log(1 - gain_pct / 100)))
    assert found["all"] >= 50
    assert found["all"] - found["accepted"] <= 0.02 * found["all"]
    assert found["audits"] <= 5.5 * found["all"]


@pytest.mark.parametrize(("gain_pct", "share"), [(1.5, 0.97), (5.0, 1.0)])
@pytest.mark.parametrize("machine", [UNSTEADY, TWO_SPEEDS])
def test_small_gains_that_only_the_contest_sees_are_not_accepted_there(
    gain_pct: float, share: float, machine: Machine
) -> None:
    found = outcomes(machine, only_in_contests(log(1 - gain_pct / 100)))
    assert found["all"] - found["accepted"] >= share * found["all"]


@pytest.mark.parametrize(("gain_pct", "share"), [(1.5, 0.85), (5.0, 0.98)])
@pytest.mark.parametrize("machine", [UNSTEADY, TWO_SPEEDS])
def test_nor_are_those_that_the_drivers_clock_does_not_see(gain_pct: float, share: float, machine: Machine) -> None:
    """As of a kernel that has each call begin later than it does: in all times that it is asked for."""
    quick = log(1 - gain_pct / 100)
    found = outcomes(machine, Truth(quick, quick, 0.0, quick))
    assert found["all"] - found["accepted"] >= share * found["all"]


@pytest.mark.parametrize(("gain_pct", "by_place"), [(2.0, 0.01), (10.0, 0.02), (10.0, 0.05), (10.0, 0.1), (50.0, 0.1)])
def test_a_gain_that_differs_from_place_to_place_of_the_code_is_hardly_ever_refused(
    gain_pct: float, by_place: float
) -> None:
    found = outcomes(Machine(0.005, 0.01, by_place), honest(log(1 - gain_pct / 100)))
    assert found["all"] >= 20
    assert found["all"] - found["accepted"] <= 0.05 * found["all"]


@pytest.mark.parametrize("by_process", [0.05, 0.1])
def test_a_gain_of_another_size_in_each_process_is_refused_where_fresh_inputs_have_none(by_process: float) -> None:
    """As of a kernel that keeps another share of its results in each: what makes it doubtful is its own doing."""
    machine = Machine(0.01, 0.04, by_process=by_process)
    found = outcomes(machine, only_in_contests(log(0.85)))
    assert found["all"] - found["accepted"] >= 0.95 * found["all"]
    found = outcomes(machine, honest(log(0.85)))
    assert found["all"] >= 20
    assert found["all"] - found["accepted"] <= 0.05 * found["all"]


@pytest.mark.parametrize("waits", [0.3, 0.6])
def test_calls_that_wait_for_other_work_do_not_hide_a_gain_from_the_drivers_clock(waits: float) -> None:
    quick = log(0.7)
    found = outcomes(replace(UNSTEADY, waits=waits), honest(quick))
    assert found["all"] - found["accepted"] <= 1
    found = outcomes(replace(UNSTEADY, waits=waits), Truth(quick, quick, 0.0, quick))
    assert found["all"] - found["accepted"] >= 0.95 * found["all"]
