"""What a trial shows: the gain of few processes, with an interval at 95 %."""

import pytest
from hypothesis import given, strategies as st

from kpd.measure.judge import BadSamples, judge, quick_gain
from kpd.measure.samples import CaseSample, ProcessSample

TIMES = st.lists(st.integers(500, 2000), min_size=2, max_size=9)


def processes(*candidate_ns: int, taint: str = "") -> tuple[ProcessSample, ...]:
    return tuple(
        ProcessSample(number, {"case": CaseSample(1, (1000, 1000), (ns, ns))}, taint)
        for number, ns in enumerate(candidate_ns)
    )


def test_one_process_shows_nothing_and_two_do() -> None:
    with pytest.raises(BadSamples, match="a trial needs 2"):
        quick_gain(processes(500))
    with pytest.raises(BadSamples, match="only 0 untainted"):
        quick_gain(processes(500, 500, 500, taint="other work"))
    found = quick_gain(processes(500, 500))
    assert (found.pct, found.low, found.high, found.confidence) == pytest.approx((50.0, 50.0, 50.0, 0.95))


@given(TIMES)
def test_the_gain_is_the_verdict_s_and_lies_in_its_interval(times: list[int]) -> None:
    samples = processes(*times)
    found = quick_gain(samples)
    assert found.low <= found.pct <= found.high
    assert found.pct == pytest.approx(judge(samples, 1.0).gain.pct)


def test_more_processes_that_agree_narrow_the_interval() -> None:
    few, many = quick_gain(processes(500, 510, 505)), quick_gain(processes(500, 510, 505, 500, 510, 505))
    assert many.high - many.low < few.high - few.low
