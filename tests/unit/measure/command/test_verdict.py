"""From pairs of runs to a verdict: about the task's own score, whichever way is better, and the cases held out."""

import math
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, strategies as st

from kpd.measure.bench import CheckFailed
from kpd.measure.command.result import CaseResult, Result
from kpd.measure.command.timing import cost, order, sample
from kpd.measure.interval import half_width
from kpd.measure.judge import CONFIDENCE, BadSamples, HeldOutResult, held_out, judge, log_ratio, percent
from kpd.measure.samples import ProcessSample
from kpd.measure.score import case_times, implausible, score
from kpd.model.scores import Direction
from kpd.model.verdicts import Gain, Verdict
from kpd.text.verdicts import verdict as told

SCORES = st.floats(1e-6, 1e6)
DIRECTIONS: tuple[Direction, ...] = ("lower", "higher")
FAST = Verdict("faster", Gain(10.0, 9.0, 11.0), 7, True, "confirmed", 2.0)

KNOWN = told(FAST)


def of(a: float, b: float, direction: Direction = "lower", process: int = 0) -> ProcessSample:
    return sample(process, Result(a, {}), Result(b, {}), direction)


@given(st.integers(0, 99), st.integers(1, 30))
def test_every_pair_has_both_sides_and_who_goes_first_alternates(first: int, processes: int) -> None:
    pairs = [order(first, processes)[at : at + 2] for at in range(0, 2 * processes, 2)]
    assert len(pairs) == processes
    assert set(pairs) <= {"ab", "ba"}
    assert all(one != two for one, two in pairwise(pairs))
    assert order(first + 1, processes) == order(first, processes + 1)[2:]


@given(SCORES, SCORES)
def test_a_better_score_is_a_gain_whichever_way_is_better(a: float, b: float) -> None:
    for direction, sign in zip(DIRECTIONS, (1, -1), strict=True):
        pair = of(a, b, direction)
        assert pair.score is not None
        assert log_ratio(pair.score) == pytest.approx(sign * math.log(a / b), abs=1e-9)
        assert score([pair], direction) == pytest.approx(b)
    assert cost(a, "lower") == 1000 * a


def test_the_verdict_is_about_the_score_and_the_cases_tell_where() -> None:
    def pair(process: int) -> ProcessSample:
        before = Result(30.0, {"small": CaseResult(10.0), "large": CaseResult(20.0, 16.0)})
        after = Result(27.0, {"small": CaseResult(12.0), "large": CaseResult(15.0, 14.0)})
        return sample(process, before, after, "lower")

    samples = [pair(number) for number in range(7)]
    assert judge(samples, 2.0).gain.pct == pytest.approx(10)
    assert score(samples) == pytest.approx(27)
    small, large = case_times(samples, {})
    assert (small.gain_pct, large.gain_pct) == pytest.approx((-20, 25))
    assert samples[0].cases["large"].device_ns == (16_000.0, 14_000.0)
    assert samples[0].cases["small"].device_ns is None


@pytest.mark.parametrize(("direction", "after"), [("lower", 1.0), ("higher", 1e6)])
def test_a_thousand_times_as_fast_is_the_most_that_is_believed_without_a_check(
    direction: Direction, after: float
) -> None:
    less, more = (1.01, 0.99) if direction == "lower" else (0.99, 1.01)
    assert implausible([of(1000.0, after * less, direction)]) is None
    doubted = implausible([of(1000.0, after * more, direction)])
    assert doubted is not None
    assert doubted.times == pytest.approx(1010, rel=1e-3)


def test_scores_without_cases_are_enough_and_some_without_a_score_are_not() -> None:
    samples = [of(10.0, 9.0, process=number) for number in range(9)]
    assert judge(samples, 2.0).accepted
    assert case_times(samples, {}) == ()
    with pytest.raises(BadSamples, match="different cases"):
        judge([*samples, ProcessSample(9, {})], 2.0)
    with pytest.raises(BadSamples, match="timed no case"):
        judge([ProcessSample(number, {}) for number in range(7)], 2.0)


def test_two_runs_with_other_cases_are_no_pair() -> None:
    with pytest.raises(CheckFailed, match="different cases: large"):
        sample(0, Result(1.0, {}), Result(1.0, {"large": CaseResult(1.0)}), "lower")


@pytest.mark.parametrize(
    ("final", "accepted", "reason"),
    [
        (HeldOutResult("best_us", 50.0, None, 0.0), True, f"{KNOWN}; held out: best_us 50"),
        (HeldOutResult("best_us", 40.0, 50.0, 20.0), True, f"{KNOWN}; held out: best_us 40 against 50 (1.25×)"),
        (
            HeldOutResult("best_us", 50.9, 50.0, -1.8),
            True,
            f"{KNOWN}; held out: best_us 50.9 against 50 (1.8 % more time)",
        ),
        (
            HeldOutResult("best_us", 60.0, 50.0, -20.0, (-19.0, -21.0)),
            False,
            "slower on the held-out cases: best_us 60 against 50 (0.83×), both times and by more than the 2.0 % "
            "of the noise; on the known ones " + KNOWN,
        ),
        (
            HeldOutResult("best_us", 60.0, 50.0, -20.0, (1.0, -41.0)),
            True,
            f"{KNOWN}; held out: best_us 60 against 50 (0.83×), but not both times",
        ),
    ],
)
def test_what_the_held_out_cases_say(final: HeldOutResult, accepted: bool, reason: str) -> None:
    found = held_out(FAST, final, 2.0)
    assert (found.accepted, told(found), found.gain) == (accepted, reason, FAST.gain)


def test_a_loss_within_the_noise_of_the_run_is_none() -> None:
    noisy = Verdict("faster", Gain(10.0, 7.0, 13.0), 7, True, "confirmed", 2.0)
    lost = HeldOutResult("best_us", 52.5, 50.0, -5.0, (-4.0, -6.0))
    found = held_out(noisy, lost, 2.0)
    assert found.accepted
    assert told(found).endswith("(5.0 % more time), within the 6.0 % of the noise")
    assert not held_out(FAST, lost, 2.0).accepted


def test_a_neutral_candidate_is_hardly_ever_rejected() -> None:
    """At 3 % from process to process: the verdict's own interval is then as wide as that of seven pairs."""
    random = Random(7)

    def pair() -> float:
        return percent(random.gauss(0, 0.03) - random.gauss(0, 0.03))

    half = percent(half_width([pair() / 100 for _ in range(7)], CONFIDENCE))
    rejected = 0
    for _ in range(2000):
        halves = (pair(), pair())
        verdict = Verdict("faster", Gain(10.0, 10.0 - half, 10.0 + half), 7, True, "confirmed", 2.0)
        rejected += not held_out(verdict, HeldOutResult("us", 1.0, 1.0, sum(halves) / 2, halves), 2.0).accepted
    assert rejected < 20
