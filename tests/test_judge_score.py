"""The score and the times of the cases."""

import pytest

from kpd.measure.judge import BadSamples
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.measure.score import Work, case_times, score

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
    small, large = case_times(SAMPLES, {"small": Work(bytes=4096, flops=100, roofline_us=0.5)})
    assert (small.case, small.bytes, small.flops, small.roofline_us) == ("small", 4096, 100, 0.5)
    assert small.candidate_us == pytest.approx(1.0001)
    assert small.incumbent_us == pytest.approx(2)
    assert small.gain_pct == pytest.approx(50, abs=0.01)
    assert (large.case, large.bytes, large.roofline_us) == ("large", None, None)
    assert large.candidate_us == pytest.approx(4000)


def test_no_untainted_process_is_no_score() -> None:
    tainted = [ProcessSample(0, SAMPLES[0].cases, taint="busy")]
    with pytest.raises(BadSamples):
        score(tainted)
    with pytest.raises(BadSamples):
        case_times(tainted, {})
