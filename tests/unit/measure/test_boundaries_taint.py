"""What makes times not to be believed: how much of it is borne, and how much is too much."""

from dataclasses import replace

import pytest

from kpd.measure import samples
from kpd.measure.driver.timing import CaseReport, taint
from kpd.measure.samples import Batches, ClockReadings
from kpd.model import clocks

MS = 1_000_000
CALM = ClockReadings((1000.0, 1000.0), (2619.0, 2619.0), (300.0, 420.0), (45.0, 51.0), 0)
QUIET = CaseReport(1, (10 * MS,) * 20, (10 * MS,) * 20, steal_ticks=0, threads=1)
"""Forty batches of ten milliseconds: 400 in all."""


@pytest.mark.parametrize(("lost", "tainted"), [(40 * MS, False), (40 * MS + 1, True)])
def test_a_tenth_of_a_cases_time_may_go_to_other_work(lost: int, tainted: bool) -> None:
    assert bool(taint({"quiet": QUIET, "case": replace(QUIET, lost_ns=lost)})) is tainted


def test_the_share_is_of_both_sides_time() -> None:
    uneven = replace(QUIET, a_ns=(10 * MS,) * 30, b_ns=(10 * MS,) * 10)
    assert not taint({"case": replace(uneven, lost_ns=40 * MS)})
    assert taint({"case": replace(uneven, lost_ns=40 * MS + 1)})


def test_what_was_lost_is_told_as_a_time() -> None:
    said = "other work took the CPU for 41.5 of 400.0 ms of case"
    assert taint({"quiet": QUIET, "case": replace(QUIET, lost_ns=41_500_000)}) == said


@pytest.mark.parametrize(("ticks", "tainted"), [(4, False), (5, True)])
def test_a_tenth_of_the_time_may_go_to_the_hypervisor(ticks: int, tainted: bool) -> None:
    """A tick is ten milliseconds: four of them are a tenth of 400 ms."""
    assert bool(taint({"case": replace(QUIET, steal_ticks=ticks)})) is tainted
    assert bool(taint({"one": replace(QUIET, steal_ticks=ticks), "two": replace(QUIET, steal_ticks=4)})) is tainted


def test_a_gpu_keeps_the_time_itself_whoever_has_the_cpu() -> None:
    robbed = replace(QUIET, steal_ticks=40)
    assert taint({"case": robbed})
    assert not taint({"case": robbed, "gpu": replace(QUIET, warm=Batches(1, (1,), (1,)))})


@pytest.mark.parametrize(
    ("least", "tainted"), [(900.0, False), (899.999, True), (899.0, True)], ids=["a tenth", "a little more", "more"]
)
def test_a_clock_may_move_by_a_tenth_of_its_highest(least: float, tainted: bool) -> None:
    for spread in ((least, 1000.0), (1000.0, least)):
        assert bool(samples.taint("case", replace(CALM, sm_mhz=spread))) is tainted
        assert bool(taint({"case": replace(QUIET, telemetry=replace(CALM, sm_mhz=spread))})) is tainted


@pytest.mark.parametrize("bit", [1 << at for at in range(12)])
def test_which_reasons_for_a_lowered_clock_are_trouble(bit: int) -> None:
    """NVML's bits: slowed by the hardware, too hot by software's or hardware's measure, power brake."""
    trouble = bit in (0x08, 0x20, 0x40, 0x80)
    assert bool(samples.lowered("case", replace(CALM, reasons=bit))) is trouble
    assert bool(samples.taint("case", replace(CALM, reasons=bit))) is trouble
    assert bool(clocks.words(bit)) is (0x02 <= bit <= 0x100)


def test_of_two_readings_the_least_and_the_most_are_kept() -> None:
    low = ClockReadings((1.0, 2.0), (3.0, 4.0), (5.0, 6.0), (7.0, 8.0), 1)
    high = ClockReadings((11.0, 12.0), (13.0, 14.0), (15.0, 16.0), (17.0, 18.0), 2)
    for spread in (samples.both(low, high), samples.both(high, low)):
        assert spread == ClockReadings((1.0, 12.0), (3.0, 14.0), (5.0, 16.0), (7.0, 18.0), 3)
