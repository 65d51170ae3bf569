"""The driver's own clock against the samples of a contest."""

from statistics import fmean

import pytest
from hypothesis import given, strategies as st

from kpd.measure.clocks import LITTLE, MOST_WAITED_NS, has_clock, lengthening, refuse_clock
from kpd.measure.interval import half_width
from kpd.measure.samples import CaseSample, DriverClock, ProcessSample
from kpd.model.faults import ClockForged
from kpd.text.faults import fault
from tests.places import ROOT


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


def test_one_batch_in_32_that_nobody_can_be_seen_to_disturb_accuses_nobody() -> None:
    """Interrupts and the hypervisor take no process's CPU: 4 of 128 batches of 125 us are taken again for 7 us each."""
    kept, again = 128 * 125_000, 4 * 132_000
    clock = DriverClock(kept + again, kept + again, 0, kept + 4 * 125_000, 0, 0, 0)
    case = CaseSample(1, (125_000,) * 64, (125_000,) * 64, clock=clock)
    assert refuse_clock([ProcessSample(n, {"case": case}) for n in range(9)]) is None


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


def missing_ms(clock: DriverClock) -> float:
    """How much of 20 ms that a process says were spent in other batches than a hundred of a millisecond is not."""
    lost = max(clock.others_ns, clock.wall_ns - clock.busy_ns) / 1e6
    own = 120.0 - lost
    return own - own / lengthening(CaseSample(1, (1_000_000,) * 50, (1_000_000,) * 50, clock=clock))


@pytest.mark.parametrize(
    ("waited_ns", "others_ns", "forced", "missing"),
    [
        pytest.param(0, 0, 0, 17.0, id="nothing but the quad that is begun anew"),
        pytest.param(17_000_000, 17_000_000, 0, 0.0, id="others had the CPU"),
        pytest.param(17_000_000, 16_000_000, 0, 1.0, id="for less than that"),
        pytest.param(800_000, 800_000, 17, 0.0, id="a little, in as many batches"),
        pytest.param(800_000, 800_000, 16, 0.2, id="in fewer batches"),
        pytest.param(799_000, 799_000, 17, 0.02, id="so little that batches are kept"),
        pytest.param(0, 0, 1, 16.0, id="the driver looks"),
        pytest.param(850_000, 0, 17, 16.0, id="only its own threads had it"),
        pytest.param(0, 0, None, 0.0, id="the system does not tell"),
    ],
)
def test_batches_that_did_not_count_took_what_the_system_bears_out(
    waited_ns: int, others_ns: int, forced: int | None, missing: float
) -> None:
    wall = 120_000_000
    assert missing_ms(DriverClock(wall, wall, 0, wall, waited_ns, others_ns, forced)) == pytest.approx(missing)


def test_time_in_which_a_process_had_no_cpu_was_lost_whoever_had_that() -> None:
    wall = 120_000_000
    assert missing_ms(DriverClock(wall, wall, 0, wall - 17_000_000, forced=0)) == pytest.approx(0.0)
    assert missing_ms(DriverClock(wall, wall, 0, wall - 16_000_000, forced=0)) == pytest.approx(1.0)


def test_what_is_said_to_have_been_spent_beside_is_no_excuse_for_a_timing_that_lasts_longer() -> None:
    said = {"wall_ns": 130_000_000, "spent_ns": 130_000_000, "busy_ns": 130_000_000}

    def told(forced: int | None) -> bool:
        case = CaseSample(1, (1_000_000,) * 50, (1_000_000,) * 50, clock=DriverClock(**said, forced=forced))
        return refuse_clock([ProcessSample(n, {"case": case}) for n in range(9)]) is not None

    assert told(0)
    assert not told(None)


@given(
    kept=st.integers(12, 256),
    taken=st.lists(st.tuples(st.integers(7_000, 50_000_000), st.integers(1, 3)), max_size=60),
    begun_anew=st.integers(2, 3),
)
def test_no_load_makes_batches_count_for_less_than_they_took(kept, taken, begun_anew) -> None:
    """A batch of 125 us that loses more than a twentieth is taken again, by whatever it was preempted how often."""
    batch, lost = 125_000, sum(one for one, _ in taken)
    work = batch * (2 * kept + len(taken) + begun_anew)
    clock = DriverClock(work + lost, work + lost, 0, work, lost, lost, sum(times for _, times in taken))
    assert lengthening(CaseSample(1, (batch,) * kept, (batch,) * kept, clock=clock)) == pytest.approx(1.0)


@pytest.mark.parametrize("lost_ns", [0, 10**9], ids=["idle", "loaded"])
def test_what_is_not_told_of_batches_is_seen_at_any_load(lost_ns: int) -> None:
    """An eighth of each batch, which is said to have been spent in others."""
    clock = DriverClock(24_000_000 + lost_ns, 24_000_000 + lost_ns, 0, 24_000_000, lost_ns, lost_ns, 0)
    assert lengthening(CaseSample(1, (875_000,) * 12, (875_000,) * 12, clock=clock)) == pytest.approx(24 / 23.625)
    longer = DriverClock(240_000_000 + lost_ns, 240_000_000 + lost_ns, 0, 240_000_000, lost_ns, lost_ns, 0)
    assert lengthening(CaseSample(1, (875_000,) * 120, (875_000,) * 120, clock=longer)) > 1.12


def test_a_wait_between_batches_is_no_time_that_they_took() -> None:
    clock = DriverClock(103_000_000, 100_000_000, 0, 100_000_000, 3_000_000, 3_000_000, 1)
    assert lengthening(CaseSample(1, (1_000_000,) * 50, (1_000_000,) * 50, clock=clock)) == 1.0


def test_a_batch_is_taken_again_from_the_same_share_on_as_here() -> None:
    assert f"#define LITTLE {LITTLE}u " in (ROOT / "kpd/measure/native/batches.c").read_text()


def test_disturbed_processes_and_samples_without_the_drivers_clock_say_nothing() -> None:
    old = ProcessSample(0, {"case": CaseSample(1, (1,), (1,))})
    assert not has_clock(old)
    assert refuse_clock([old, old]) is None
    tainted = ProcessSample(1, process(1, 1).cases, "other work")
    assert refuse_clock([tainted, tainted]) is None


def test_a_gpus_own_clock_is_compared_in_one_direction() -> None:
    assert refuse_clock([process(n, 900_000_000) for n in range(9)]) is None
