"""Every number that decides a verdict: what is decided just below it, and what just above."""

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.job import Leave
from kpd.measure.bench import Say
from kpd.measure.contest import MOST, contest
from kpd.measure.interval import half_width
from kpd.measure.judge import BadSamples, HeldOutResult, decide, held_out, judge, log_ratio, percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.verdicts import Gain, Verdict

CALL_NS = 1e9
NOISY = [9, -9, 3, -4, 1] * 3
"""Gains in percent, a process each, of which nothing can be said however many they are."""


def processes(gains: Sequence[float]) -> tuple[ProcessSample, ...]:
    """A process without noise in it for each gain, in percent of time saved."""
    cases = (CaseSample(10, (CALL_NS,) * 2, (CALL_NS * (1 - gain / 100),) * 2) for gain in gains)
    return tuple(ProcessSample(number, {"only": case}) for number, case in enumerate(cases))


# ── how many processes ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_verdict_is_looked_for_at_these_numbers_of_processes_and_no_others() -> None:
    more = [decide(processes(NOISY[:count]), 2) for count in range(17)]
    assert more == [2, 1, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 0, 0]


def test_between_two_looks_nothing_is_decided() -> None:
    """However clear it is: a verdict between looks would be one chance more for luck."""
    assert [decide(processes([-50] * count), 2) for count in (1, 2)] == [1, 0]
    assert [decide(processes([0] * count), 2) for count in (3, 4, 5, 6, 7)] == [2, 1, 0, 1, 0]
    assert [decide(processes([20] * count), 2) for count in range(3, 11)] == [2, 1, 2, 1, 2, 1, 0, 1]


def test_thorough_goes_on_to_the_last_look_however_clear_it_is() -> None:
    assert [decide(processes([20] * count), 2, thorough=True) for count in (2, 5, 7, 14, 15)] == [1, 2, 2, 1, 0]


def test_two_processes_are_a_verdict_and_one_is_none() -> None:
    assert judge(processes([-50, -50]), 2).processes == 2
    with pytest.raises(BadSamples):
        judge(processes([-50]), 2)


@pytest.mark.parametrize(("count", "accepted"), [(5, False), (7, False), (8, True), (9, True)])
def test_a_gain_counts_from_the_look_after_seven_processes_on(count: int, accepted: bool) -> None:
    assert judge(processes([20] * count), 2).accepted is accepted


def test_a_quad_is_two_batches_of_each_side_and_a_process_is_its_median_quad() -> None:
    quads = CaseSample(1, (100.0,) * 6, (85.0, 95.0, 70.0, 90.0, 5.0, 15.0))
    assert log_ratio(quads) == pytest.approx(math.log(200 / 160))
    assert log_ratio(CaseSample(1, (100.0,), (80.0,))) == pytest.approx(math.log(100 / 80))


def test_each_layout_counts_as_much_as_the_others() -> None:
    """Quads at 100 against 80 and at 100 against 90 by turns."""
    b_ns = (80.0, 80.0, 90.0, 90.0) * 2 + (80.0, 80.0)
    quads = CaseSample(1, (100.0,) * 10, b_ns, layouts=2)
    assert log_ratio(quads) == pytest.approx((math.log(100 / 80) + math.log(100 / 90)) / 2)
    assert log_ratio(replace(quads, layouts=1)) == pytest.approx(math.log(100 / 80))
    assert log_ratio(replace(quads, layouts=5)) == pytest.approx((3 * math.log(100 / 80) + 2 * math.log(100 / 90)) / 5)


@pytest.mark.parametrize(("layouts", "fits"), [(0, False), (1, True), (5, True), (6, False)])
def test_a_layout_has_a_quad_at_least(layouts: int, fits: bool) -> None:
    case = CaseSample(1, (100.0,) * 10, (80.0,) * 10, layouts=layouts)
    samples = [ProcessSample(number, {"case": case}) for number in range(2)]
    with nullcontext() if fits else pytest.raises(BadSamples, match=f"process 0, case case: {layouts} layouts in 10"):
        judge(samples, 1.0)


# ── what they say ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("gain", "word"), [(-9.999, "no_gain"), (-10.001, "slower")])
def test_two_processes_show_a_loss_of_ten_percent_and_no_less(gain: float, word: str) -> None:
    assert judge(processes([gain] * 2), 2).word == word
    assert judge(processes([gain] * 3), 2).word == "slower"


@pytest.mark.parametrize(("asked", "accepted"), [(4.999, True), (5.001, False)])
def test_a_gain_is_accepted_from_the_asked_one_on(asked: float, accepted: bool) -> None:
    verdict = judge(processes([5] * 9), asked)
    assert (verdict.word, verdict.accepted) == ("faster", accepted)
    assert decide(processes([5] * 9), asked) == 0


@pytest.mark.parametrize(
    ("gains", "otherwise"),
    [([-3, 1, -2, 0, -1], "no_gain"), ([3, -1, 2, 0, 1], "undecided")],
    ids=["more of a loss", "more of a gain"],
)
@pytest.mark.parametrize(("factor", "same"), [(0.999, False), (1.0, False), (1.001, True)])
def test_no_difference_is_an_interval_within_the_asked_gain_on_both_sides(
    gains: list[float], otherwise: str, factor: float, same: bool
) -> None:
    found = judge(processes(gains), 1).gain
    assert found.low < 0 < found.high
    assert judge(processes(gains), factor * max(-found.low, found.high)).word == ("same" if same else otherwise)


@pytest.mark.parametrize(("factor", "word"), [(0.999, "undecided"), (1.0, "undecided"), (1.001, "no_gain")])
def test_a_gain_is_ruled_out_by_an_interval_below_the_asked_one(factor: float, word: str) -> None:
    gains = [-3, 1, -2, 0, -1]
    verdict = judge(processes(gains), factor * judge(processes(gains), 1).gain.high)
    assert (verdict.word, verdict.rule, verdict.decides) == (word, word, word == "no_gain")


@pytest.mark.parametrize(("factor", "more"), [(0.999, 2), (1.0, 2), (1.001, 0)])
def test_a_contest_ends_at_five_processes_that_rule_the_asked_gain_out(factor: float, more: int) -> None:
    gains = [0.6, -0.6, 0.2, -0.2, 0.1]
    high = judge(processes(gains), 1).gain.high
    assert decide(processes(gains), factor * high) == more
    assert decide(processes([0.0] * 3), 2) == 2


@pytest.mark.parametrize(("shift", "word"), [(-0.001, "undecided"), (0.001, "faster")])
def test_a_gain_is_one_when_the_whole_interval_is_above_nothing(shift: float, word: str) -> None:
    ratios = [0.02, 0.03, 0.025, 0.04, 0.01]
    middle, half = math.fsum(ratios) / 5, half_width(ratios, 0.99)
    moved = [percent(ratio - middle + half + shift) for ratio in ratios]
    assert judge(processes(moved), 0.5).word == word
    lost = judge(processes([percent(-(ratio - middle) - half - shift) for ratio in ratios]), 0.5)
    assert lost.word == {"faster": "slower", "undecided": "no_gain"}[word]


@pytest.mark.parametrize(
    ("ratios", "at_99", "at_90"),
    [
        ([0.0, 0.02], 0.3494960887546942, 0.05428442309517755),
        ([0.01, 0.02, 0.04], 0.07865040327622519, 0.021741979380279088),
        ([0.02, 0.03, 0.025, 0.04, 0.01], 0.02193410707110519, 0.010142245413643447),
        ([0.01 * (at * 7 % 15) for at in range(15)], 0.033494695647424126, 0.019950904874571674),
    ],
)
def test_the_interval_of_old_samples_stays_what_it_was(ratios: list[float], at_99: float, at_90: float) -> None:
    """Verdicts are derived again from files of years ago: number of resamples and seed are part of them."""
    assert (half_width(ratios, 0.99), half_width(ratios, 0.9)) == pytest.approx((at_99, at_90), rel=1e-12)


def test_a_ratio_that_no_machine_gives_stays_a_finite_loss() -> None:
    assert percent(-699.0) > percent(-700.0) == percent(-1e9) > -math.inf


def test_a_gain_that_is_just_the_asked_one_is_accepted() -> None:
    asked = judge(processes([5] * 9), 2).gain.pct
    assert judge(processes([5] * 9), asked).accepted
    assert not judge(processes([5] * 9), math.nextafter(asked, 9)).accepted


# ── held-out cases ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("asked", "width", "noise"), [(2.0, 1.0, 2.0), (2.0, 6.0, 6.0)], ids=["asked", "interval"])
@pytest.mark.parametrize(("beyond", "accepted"), [(0.0, True), (1e-9, False)])
def test_a_loss_on_held_out_cases_counts_beyond_the_noise(
    asked: float, width: float, noise: float, beyond: float, accepted: bool
) -> None:
    verdict = Verdict("faster", Gain(10.0, 8.0, 8.0 + width, 0.99), 7, True, "told", told="")
    final = HeldOutResult("us", 110.0, 100.0, -noise - beyond, (-1.0, -2.0))
    assert held_out(verdict, final, asked).accepted is accepted


@pytest.mark.parametrize(("half", "accepted"), [(-0.5, False), (0.0, True), (0.5, True)])
def test_a_loss_on_held_out_cases_counts_when_both_halves_show_it(half: float, accepted: bool) -> None:
    verdict = Verdict("faster", Gain(10.0, 9.0, 11.0, 0.99), 7, True, "told", told="")
    for halves in ((half, -30.0), (-30.0, half)):
        assert held_out(verdict, HeldOutResult("us", 130.0, 100.0, -20.0, halves), 2.0).accepted is accepted


# ── a busy machine ────────────────────────────────────────────────────────────────────────────────────────────────


class Busy:
    """A bench of a candidate that is clearly faster, disturbed in its first `tainted` processes."""

    def __init__(self, tainted: int) -> None:
        self.tainted = tainted
        self.asked: list[int] = []

    async def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say, quick: int, leave: Leave
    ) -> AsyncGenerator[ProcessSample]:
        self.asked.append(processes)
        for number in range(first, first + processes):
            yield ProcessSample(
                number, {"only": CaseSample(1, (1000, 1001), (500, 501))}, "other work" * (number < self.tainted)
            )

    async def forget(self, job: str) -> None:
        """Nothing is kept."""


async def settle(bench: Busy) -> tuple[ProcessSample, ...]:
    return await contest(bench, "a", "b", "r1.1-{}".format, 2.0, print, lambda samples: None)  # type: ignore[arg-type]


async def test_fifteen_disturbed_processes_are_borne_and_one_more_is_a_busy_machine() -> None:
    bench = Busy(15)
    assert len(await settle(bench)) == 15 + 9
    assert bench.asked == [MOST]
    with pytest.raises(HostError) as caught:
        await settle(Busy(16))
    assert caught.value.kind == "busy"
