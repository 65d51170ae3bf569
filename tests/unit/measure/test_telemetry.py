"""What a GPU says of itself while a case is timed, and what a report with it becomes."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.measure import samples
from kpd.measure.driver.timing import CaseReport, taint
from kpd.measure.samples import Batches, ClockReadings, ProcessSample, samples_from_json, samples_to_json
from kpd.model.codec import decode

CALM = ClockReadings((1980.0, 1965.0), (2619.0, 2619.0), (310.5, 420.0), (45.0, 51.0), 0)


@pytest.mark.parametrize(
    ("bits", "said"),
    [
        (0x08, "the GPU's clock was lowered during big: hardware slowdown (51 C, 420 W)"),
        (0x20, "the GPU's clock was lowered during big: too hot (51 C, 420 W)"),
        (0x40 | 0x04, "the GPU's clock was lowered during big: too hot (51 C, 420 W)"),
        (0x80, "the GPU's clock was lowered during big: power brake (51 C, 420 W)"),
        (0x01 | 0x02 | 0x04 | 0x10 | 0x100, ""),  # idle, set clocks, a power limit, sync boost, a display
    ],
)
def test_a_clock_that_was_lowered_taints(bits: int, said: str) -> None:
    assert samples.taint("big", replace(CALM, reasons=bits)) == said


@given(st.floats(200, 2500), st.floats(0.5, 2.0))
def test_a_clock_that_moved_by_more_than_a_tenth_taints(before: float, factor: float) -> None:
    after = before * factor
    moved = abs(after - before) > 0.1 * max(before, after)
    said = samples.taint("big", replace(CALM, sm_mhz=(before, after)))
    assert bool(said) == moved
    least, greatest = sorted((before, after))
    assert said in ("", f"the GPU's clock ran at {least:g} to {greatest:g} MHz during big")


def test_a_clock_that_was_read_while_nothing_ran_says_nothing() -> None:
    assert samples.taint("big", replace(CALM, sm_mhz=(345.0, 1980.0), reasons=0x01)) == ""
    assert samples.taint("big", replace(CALM, sm_mhz=(345.0, 1980.0))) != ""


REPORT = (
    '{"reps":4,"a_ns":[100,101],"b_ns":[90,91],"disturbed":0,"steal_ticks":0,"threads":0,'
    '"warm":{"reps":8,"a_ns":[50,51],"b_ns":[40,41]},"device_ns":[20.5,18.25],"synchronises":[false,false],'
    '"telemetry":{"sm_mhz":[1980,1980],"mem_mhz":[2619,2619],"power_w":[300,310.5],"temp_c":[40,41],"reasons":0}}'
)


def test_a_report_with_all_of_it_is_kept_whole() -> None:
    report = decode(REPORT, CaseReport)
    sample = report.sample()
    assert (sample.reps, sample.a_ns, sample.device_ns) == (4, (100, 101), (20.5, 18.25))
    assert sample.warm == Batches(8, (50, 51), (40, 41))
    assert sample.telemetry is not None and sample.telemetry.power_w == (300, 310.5)
    kept = (ProcessSample(0, {"big": sample}),)
    assert samples_from_json(samples_to_json(kept)) == kept
    assert taint({"big": report}) == ""
    hot = decode(REPORT.replace('"reasons":0', '"reasons":64'), CaseReport)
    assert "too hot" in taint({"big": hot})


def test_a_side_that_waits_for_the_device_has_no_time_there() -> None:
    waits = REPORT.replace("[20.5,18.25]", "[20.5,null]").replace("[false,false]", "[false,true]")
    assert decode(waits, CaseReport).sample().device_ns is None


def test_old_files_and_reports_without_it_are_read() -> None:
    plain = '{"reps":1,"a_ns":[1,2],"b_ns":[3,4],"disturbed":0,"steal_ticks":0,"threads":1}'
    sample = decode(plain, CaseReport).sample()
    assert (sample.warm, sample.device_ns, sample.telemetry) == (None, None, None)
    old = b'{"version":1,"samples":[{"process":0,"cases":{"c":{"reps":1,"a_ns":[1,2],"b_ns":[3,4]}},"taint":""}]}'
    assert samples_from_json(old) == (ProcessSample(0, {"c": sample}),)


@pytest.mark.parametrize(("reasons", "tainted"), [(0, False), (4, False), (0x08, True), (0x20, True), (0x80, True)])
def test_a_pair_of_runs_is_tainted_by_a_gpu_that_was_slowed_down(reasons: int, tainted: bool) -> None:
    """A clock that fell between the kernels of somebody's own benchmark is none of its business."""
    seen = ClockReadings((345, 1980), (2619, 2619), (90, 650), (40, 88), reasons)
    assert bool(samples.lowered("a run", seen)) == tainted


def test_two_readings_make_one_spread() -> None:
    cool, hot = (
        ClockReadings((1700, 1980), (2619, 2619), (90, 650), (40, 50), 4),
        ClockReadings((1500, 1900), (2619, 2619), (80, 600), (45, 88), 32),
    )
    assert samples.both(cool, hot) == ClockReadings((1500, 1980), (2619, 2619), (80, 650), (40, 88), 36)
    assert samples.both(None, hot) == hot
    assert samples.both(None, None) is None
