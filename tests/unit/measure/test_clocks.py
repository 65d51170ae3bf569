"""The driver's own clock against the samples of a contest."""

from statistics import fmean

import pytest
from hypothesis import given, strategies as st

from kpd.measure.clocks import MOST_WAITED_NS, has_clock, refuse_clock
from kpd.measure.interval import half_width
from kpd.measure.samples import CaseSample, DriverClock, ProcessSample
from kpd.model.faults import ClockForged
from kpd.text.faults import fault


def process(
    number: int, wall_ns: int, spent_ns: int = 0, late_ns: int = 0, busy_ns: int = 0, waited_ns: int = 0
) -> ProcessSample:
    """A hundred kept batches of a millisecond each."""
    clock = DriverClock(wall_ns, spent_ns, late_ns, busy_ns, waited_ns)
    return ProcessSample(number, {"case": CaseSample(1, (1_000_000,) * 50, (1_000_000,) * 50, clock=clock)})


def refused(wall_ns: int, spent_ns: int, late_ns: int = 0, busy_ns: int = 0, waited_ns: int = 0) -> bool:
    return refuse_clock([process(n, wall_ns, spent_ns, late_ns, busy_ns, waited_ns) for n in range(9)]) is not None


def test_samples_that_last_longer_than_their_timing_are_forged() -> None:
    right = [process(n, 100_000_000, spent_ns=100_000_000) for n in range(9)]
    forged = process(9, 95_000_000), process(10, 95_000_000)
    assert refuse_clock(right) is None
    assert refuse_clock([*right, forged[0]]) is None, "one may be an accident"
    found = refuse_clock([*right, *forged])
    assert isinstance(found, ClockForged)
    assert (found.summed_ms, found.wall_ms, found.processes, found.of) == (100.0, 95.0, 2, 11)
    assert "in 2 of 11 processes" in fault(found)
    edge = [process(n, 95_238_096) for n in range(2)]
    assert refuse_clock(edge) is None, "five percent are allowed"


EDGE_NS = 107_368_421
"""The longest timing in which a hundred batches take 100 ms: 0.95 of it is 102 ms, with 10 us between two batches."""


def test_a_timing_is_hardly_longer_than_its_batches() -> None:
    assert not refused(EDGE_NS, 100_000_000)
    assert refused(EDGE_NS + 1, 100_000_000)


def test_time_before_the_process_woke_up_and_after_it_was_done_is_not_its_own() -> None:
    assert not refused(EDGE_NS + 50_000_000, 100_000_000, late_ns=50_000_000)
    assert refused(EDGE_NS + 50_000_000, 100_000_000, late_ns=49_999_999)


def test_a_process_that_works_is_awake_whatever_it_says() -> None:
    wall = EDGE_NS + 50_000_000
    assert not refused(wall, 100_000_000, late_ns=wall, busy_ns=EDGE_NS)
    assert refused(wall, 100_000_000, late_ns=wall, busy_ns=EDGE_NS + 1)


def test_threads_on_several_cpus_work_longer_than_the_clock_runs() -> None:
    assert not refused(EDGE_NS, 100_000_000, busy_ns=400_000_000)


def test_what_others_had_the_cpu_between_two_batches_is_not_the_clocks() -> None:
    assert not refused(EDGE_NS + 8_000_000, 100_000_000, waited_ns=7_600_000)
    assert refused(EDGE_NS + 8_000_000, 100_000_000, waited_ns=7_599_999)


def test_waiting_explains_some_time_slices_and_no_more() -> None:
    edge = round((102_000_000 + MOST_WAITED_NS) / 0.95 - 1)
    assert not refused(edge, 100_000_000, waited_ns=100_000_000)
    assert refused(edge + 2, 100_000_000, waited_ns=100_000_000)


def short(wall_ns: int, waited_ns: int) -> ProcessSample:
    """A process that a busy machine measured for 3.4 ms in all."""
    clock = DriverClock(wall_ns, 3_400_000, 0, 3_500_000, waited_ns)
    return ProcessSample(0, {"case": CaseSample(1, (850_000,) * 2, (850_000,) * 2, clock=clock)})


def test_a_short_contest_beside_other_work_accuses_nobody() -> None:
    assert refuse_clock([short(9_300_000, 5_800_000)] * 4 + [short(3_500_000, 0)] * 5) is None
    assert refuse_clock([short(9_300_000, 0)] * 4 + [short(3_500_000, 0)] * 5) is not None, "nobody else had its CPU"


@pytest.mark.parametrize("waited_ns", [0, 10**9], ids=["idle", "loaded"])
def test_a_clock_at_half_speed_is_found_in_a_contest_of_one_case_at_any_load(waited_ns: int) -> None:
    """Its 256 batches last 125 us by that clock, and so twice as long."""
    clock = DriverClock(64_000_000, 32_000_000, 0, 0, waited_ns)
    case = CaseSample(1, (125_000,) * 128, (125_000,) * 128, clock=clock)
    assert refuse_clock([ProcessSample(n, {"case": case}) for n in range(9)]) is not None


@given(
    work=st.lists(st.integers(50_000, 500_000), min_size=12, max_size=100),
    waits=st.lists(st.integers(0, 50_000_000), min_size=100, max_size=100),
    late=st.integers(0, 100_000_000),
    between=st.integers(0, 9_000),
)
def test_no_load_makes_a_timing_longer_than_its_batches(work, waits, late, between) -> None:
    """Other work prolongs batches, waking up and being heard: by construction none of it counts."""
    lasted = [batch + wait for batch, wait in zip(work, waits, strict=False)]
    spent = sum(lasted)
    gaps = between * len(work)
    clock = DriverClock(spent + gaps + late, spent, late, sum(work) + gaps)
    case = CaseSample(1, tuple(lasted[::2]), tuple(lasted[1::2]), clock=clock)
    assert refuse_clock([ProcessSample(n, {"case": case}) for n in range(9)]) is None


@given(
    work=st.integers(50_000_000, 500_000_000), wait=st.integers(0, 1_000_000_000), late=st.integers(0, 100_000_000),
    told=st.floats(0.1, 0.85),
)  # fmt: skip
def test_no_load_hides_a_clock_that_runs_slow(work: int, wait: int, late: int, told: float) -> None:
    """Nor can the candidate gain by making it: what a batch waits is in the driver's clock, and must be in its time."""
    spent = round(told * (work + wait))
    case = CaseSample(1, (spent // 100,) * 50, (spent // 100,) * 50, clock=DriverClock(work + wait + late, spent, late))
    assert refuse_clock([ProcessSample(n, {"case": case}) for n in range(9)]) is not None


@pytest.mark.parametrize(
    ("count", "of", "forged"), [(3, 9, True), (2, 9, False), (2, 2, True), (1, 2, False), (4, 10, True), (3, 10, False)]
)
def test_a_third_of_the_processes_must_show_that_it_is_longer(count: int, of: int, forged: bool) -> None:
    slow = [process(n, EDGE_NS + 1, 100_000_000) for n in range(count)]
    right = [process(n, EDGE_NS, 100_000_000) for n in range(count, of)]
    assert (refuse_clock([*slow, *right]) is not None) == forged


@pytest.mark.parametrize("of", range(7, 16))
@pytest.mark.parametrize("gain", [0.02, 0.3, 3.0])
def test_a_gain_that_fewer_than_a_third_show_is_never_accepted(of: int, gain: float) -> None:
    forged = -(-of // 3) - 1
    gains = [gain] * forged + [0.0] * (of - forged)
    assert fmean(gains) < half_width(gains, 0.99)


def test_disturbed_processes_and_samples_without_the_drivers_clock_say_nothing() -> None:
    old = ProcessSample(0, {"case": CaseSample(1, (1,), (1,))})
    assert not has_clock(old)
    assert refuse_clock([old, old]) is None
    tainted = ProcessSample(1, process(1, 1).cases, "other work")
    assert refuse_clock([tainted, tainted]) is None


def test_a_gpus_own_clock_is_compared_in_one_direction() -> None:
    assert refuse_clock([process(n, 900_000_000) for n in range(9)]) is None
