"""The score and the times of the cases."""

import pytest

from kpd.measure.judge import BadSamples
from kpd.measure.samples import Batches, CaseSample, ProcessSample
from kpd.measure.score import CaseWork, case_times, impossible, score
from kpd.text.faults import impossible as told

SAMPLES = tuple(
    ProcessSample(
        number,
        {
            "small": CaseSample(10, (20_000,) * 4, (10_000 + number,) * 4),
            "large": CaseSample(2, (8_000_000,) * 4, (8_000_000,) * 3 + (99_000_000,)),
        },
    )
    for number in range(3)
)


def test_score_is_the_geometric_mean_of_the_cases_medians_a_call() -> None:
    assert score(SAMPLES) == pytest.approx((1.0001 * 4000) ** 0.5)


def test_case_times_carry_the_work_and_the_gain() -> None:
    small, large = case_times(SAMPLES, {"small": CaseWork(bytes=4096, flops=100, roofline_us=0.5)})
    assert (small.case, small.bytes, small.flops, small.roofline_us) == ("small", 4096, 100, 0.5)
    assert small.candidate_us == pytest.approx(1.0001)
    assert small.incumbent_us == pytest.approx(2)
    assert small.gain_pct == pytest.approx(50, abs=0.01)
    assert (large.case, large.bytes, large.roofline_us) == ("large", None, None)
    assert large.candidate_us == pytest.approx(4000)


def test_times_on_the_device_and_with_warm_caches_are_medians_of_those_there_are() -> None:
    cold = (20_000,) * 4
    samples = [
        ProcessSample(
            number,
            {
                "gpu": CaseSample(
                    2, cold, cold, (9_000.0, 6_000.0 + number), Batches(10, cold, (30_000 + number,) * 4)
                ),
                "part": CaseSample(2, cold, cold, (1.0, 2_000.0) if number else None),
            },
        )
        for number in range(3)
    ]
    gpu, part = case_times(samples, {})
    assert (gpu.candidate_us, gpu.device_us, gpu.warm_us) == pytest.approx((10.0, 6.001, 3.0001))
    assert (part.device_us, part.warm_us) == (2.0, None)


def test_what_no_machine_can_do_is_impossible() -> None:
    work = {
        "small": CaseWork(bytes=4096, flops=2_000_000, roofline_us=2.5, least_us=1.25),
        "large": CaseWork(bytes=8_000_000, roofline_us=5000.0, least_us=3999.0),
    }
    times = case_times(SAMPLES, work)
    found = impossible(times, work)
    assert found is not None and told(found) == (
        "small in 1 us is faster than this machine can be: it needs at least 1.25 us for 0.004096 MB and 2 million "
        "operations"
    )
    assert impossible(times[1:], work) is None
    assert impossible(times, {"small": CaseWork(roofline_us=100.0)}) is None
    worse = {**work, "large": CaseWork(bytes=8_000_000, least_us=40_000.0)}
    found = impossible(case_times(SAMPLES, worse), worse)
    assert found is not None and told(found).startswith("large in 4e+03 us")


def test_no_untainted_process_is_no_score() -> None:
    tainted = [ProcessSample(0, SAMPLES[0].cases, taint="busy")]
    with pytest.raises(BadSamples):
        score(tainted)
    with pytest.raises(BadSamples):
        case_times(tainted, {})
