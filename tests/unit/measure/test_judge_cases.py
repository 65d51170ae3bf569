"""Cases: how their weights count, the interval of each, and the one that a candidate may not slow down."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from kpd.measure.interval import t_half_width
from kpd.measure.judge import FEWEST_WON, case_gain, judge
from kpd.measure.samples import CaseSample, ProcessSample, samples_from_json, samples_to_json, weighted
from kpd.measure.score import case_times, score
from kpd.model.verdicts import Gain
from kpd.text.verdicts import verdict
from tests.support.drawn import examples

CALL_NS = 1e9


def sample(ratio: float, weight: float = 1.0) -> CaseSample:
    """A case without noise that the candidate runs at `ratio` times the incumbent's speed."""
    return CaseSample(1, (CALL_NS,) * 2, (CALL_NS / ratio,) * 2, weight=weight)


def processes(speeds: Mapping[str, Sequence[float]]) -> tuple[ProcessSample, ...]:
    """A process for each entry of the lists: the speed of each case in it, as a factor of the incumbent's."""
    count = len(next(iter(speeds.values())))
    return tuple(ProcessSample(at, {name: sample(of[at]) for name, of in speeds.items()}) for at in range(count))


# ── weights ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_verdict_is_about_the_weighted_mean_of_the_cases() -> None:
    plain = processes({"small": [0.5] * 9, "large": [2.0] * 9})
    heavy = [weighted(one, {"large": 3.0}) for one in plain]
    assert judge(plain, 1).gain.pct == pytest.approx(0)
    assert judge(heavy, 1).gain.pct == pytest.approx(100 * (1 - 0.5**0.5))
    assert judge(heavy, 1).accepted and not judge(plain, 1).accepted


def test_the_score_is_the_weighted_geometric_mean() -> None:
    plain = processes({"small": [1.0] * 2, "large": [0.01] * 2})
    assert score(plain) == pytest.approx(1e7)
    assert score([weighted(one, {"small": 3.0}) for one in plain]) == pytest.approx(1e6 * 100**0.25)


def test_the_weights_lie_in_the_samples_so_that_a_verdict_follows_from_them() -> None:
    samples = tuple(weighted(one, {"large": 3.0}) for one in processes({"small": [0.5] * 9, "large": [2.0] * 9}))
    assert judge(samples_from_json(samples_to_json(samples)), 1) == judge(samples, 1)
    assert [case.weight for case in case_times(samples, {})] == [1.0, 3.0]


def test_samples_of_an_older_kpd_have_no_weights_and_count_alike() -> None:
    samples = processes({"small": [0.5] * 9, "large": [2.0] * 9})
    raw = samples_to_json(samples).replace(b',"weight":1.0', b"")
    assert b"weight" not in raw
    assert samples_from_json(raw) == samples


speeds = st.lists(st.floats(0.5, 2.0), min_size=3, max_size=3)


@settings(max_examples=examples(30))
@given(speeds, speeds, st.integers(1, 4), st.floats(0.1, 1e6))
def test_a_weight_is_like_so_many_equal_cases_whatever_its_unit(
    one: list[float], other: list[float], count: int, unit: float
) -> None:
    samples = [weighted(it, {"a": unit, "b": count * unit}) for it in processes({"a": one, "b": other})]
    repeated = processes({"a": one, **{f"b{at}": other for at in range(count)}})
    assert judge(samples, 1).gain.pct == pytest.approx(judge(repeated, 1).gain.pct, abs=1e-9)
    assert score(samples) == pytest.approx(score(repeated))


# ── the interval of a case ────────────────────────────────────────────────────────────────────────────────────────


def test_each_case_has_its_own_interval() -> None:
    calm, wild = case_times(processes({"calm": [1.1] * 5, "wild": [1.0, 1.2, 1.1, 1.15, 1.05]}), {})
    assert (calm.low_pct, calm.high_pct) == pytest.approx((calm.gain_pct, calm.gain_pct))
    ratios = [math.log(speed) for speed in (1.0, 1.2, 1.1, 1.15, 1.05)]
    half = 4.604 * math.sqrt(sum((one - sum(ratios) / 5) ** 2 for one in ratios) / 4 / 5)
    assert wild.gain is not None
    assert wild.gain.low == pytest.approx(100 * (1 - math.exp(half - sum(ratios) / 5)), abs=0.05)
    assert wild.gain.low < wild.gain_pct < wild.gain.high


def test_one_process_has_no_interval() -> None:
    (only,) = case_times(processes({"only": [1.25]}), {})
    assert (only.gain_pct, only.gain) == (pytest.approx(20), None)
    with pytest.raises(ValueError, match="at least two processes, not 1"):
        t_half_width([0.1], 0.99)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=15), st.floats(0.5, 0.99))
def test_more_confidence_never_makes_an_interval_narrower(values: list[float], confidence: float) -> None:
    assert t_half_width(values, confidence) <= t_half_width(values, (1 + confidence) / 2) + 1e-12


# ── the worst case ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("speed", "refused"), [(0.9501, False), (0.9499, True)])
def test_a_case_may_lose_so_much_speed_and_no_more(speed: float, refused: bool) -> None:
    samples = processes({"small": [speed] * 9, "large": [2.0] * 9})
    found = judge(samples, 1, 0.95)
    assert (found.accepted, found.rule) == ((False, "worst_case") if refused else (True, "confirmed"))
    assert judge(samples, 1, 0.0).accepted
    assert judge(samples, 1, found.worst_case, found.fewest) == found


def test_the_worst_of_several_slow_cases_is_named_with_its_figures() -> None:
    found = judge(processes({"a": [0.9] * 9, "b": [0.5] * 9, "c": [9.0] * 9}), 1, 0.95)
    assert found.worst is not None
    assert (found.worst.case, found.before, found.word) == ("b", "confirmed", "faster")
    assert found.worst.gain.pct == pytest.approx(-100)
    assert "the case b is slower than the task allows: 0.50× [0.50, 0.50] (2.0× slower)" in verdict(found)
    assert "each has to keep 0.95×" in verdict(found)
    assert found.lesson == "refused"


def test_a_case_that_may_only_look_slow_refuses_nothing() -> None:
    noisy = [0.7, 1.2, 0.8, 1.1, 0.75, 1.15, 0.7, 1.1, 0.8]
    assert judge(processes({"small": noisy, "large": [4.0] * 9}), 1, 0.95).accepted


def test_of_many_cases_each_needs_more_confidence() -> None:
    """A loss that is beyond doubt for one case by itself is not, when it is the worst of many."""
    slow = [0.93, 0.91, 0.89, 0.935, 0.93, 0.9, 0.92, 0.89, 0.93]
    alone = case_gain([sample(speed) for speed in slow])
    assert alone.high < 100 * (1 - 1 / 0.95)
    for others, refused in ((1, True), (200, False)):
        many = processes({"slow": slow, **{f"fast{at}": [2.0] * 9 for at in range(others)}})
        assert (judge(many, 1, 0.95).rule == "worst_case") is refused


def test_what_is_not_accepted_anyway_keeps_its_rule() -> None:
    samples = processes({"small": [0.5] * 9, "large": [1.0] * 9})
    assert judge(samples, 1, 0.95).rule == "slower"


def test_the_cases_of_a_tasks_own_benchmark_have_a_floor_too() -> None:
    score_ns = sample(2.0)
    samples = [replace(one, score=score_ns) for one in processes({"small": [0.5] * 9, "large": [2.0] * 9})]
    assert judge(samples, 1, 0.95).rule == "worst_case"
    assert judge([replace(one, cases={}) for one in samples], 1, 0.95).accepted


def test_an_interval_is_a_gain() -> None:
    assert case_gain([sample(2.0)] * 3) == Gain(pytest.approx(50.0), pytest.approx(50.0), pytest.approx(50.0), 0.99)


def test_a_verdict_says_what_was_asked_of_it() -> None:
    found = judge(processes({"only": [2.0] * 9}), 1)
    assert (found.least_pct, found.worst_case, found.fewest) == (1, 0, FEWEST_WON)
    assert judge(processes({"only": [2.0] * 7}), 1, fewest=5).accepted
    assert not judge(processes({"only": [2.0] * 7}), 1).accepted
