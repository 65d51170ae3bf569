"""The verdict as a pure function of samples: what it says, what it refuses, and what must not change it."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from kpd.measure.judge import FEWEST, FEWEST_WON, LOOKS, BadSamples, decide, judge
from kpd.measure.samples import CaseSample, ProcessSample, samples_from_json, samples_to_json
from kpd.model.verdicts import Verdict
from tests.support.drawn import examples

CALL_NS = 1_000_000_000


def process(number: int, gain_pct: float, taint: str = "", quads: int = 2) -> ProcessSample:
    """A process without noise in it, in which the candidate saved `gain_pct` percent."""
    b = round(CALL_NS * (1 - gain_pct / 100))
    return ProcessSample(number, {"only": CaseSample(10, (CALL_NS,) * 2 * quads, (b,) * 2 * quads)}, taint)


def processes(gains: Sequence[float]) -> tuple[ProcessSample, ...]:
    return tuple(process(number, gain) for number, gain in enumerate(gains))


def swapped(samples: Sequence[ProcessSample]) -> tuple[ProcessSample, ...]:
    def swap(case: CaseSample) -> CaseSample:
        return CaseSample(case.reps, case.b_ns, case.a_ns)

    return tuple(replace(s, cases={name: swap(case) for name, case in s.cases.items()}) for s in samples)


def scaled(samples: Sequence[ProcessSample], factor: int) -> tuple[ProcessSample, ...]:
    def scale(case: CaseSample) -> CaseSample:
        return CaseSample(case.reps, tuple(t * factor for t in case.a_ns), tuple(t * factor for t in case.b_ns))

    return tuple(replace(s, cases={name: scale(case) for name, case in s.cases.items()}) for s in samples)


# No wilder: an interval over two processes of wilder ones ends so close to 100 % that rounding loses its logarithm.
times = st.integers(min_value=1_000, max_value=1_800)


@st.composite
def campaigns(draw: st.DrawFn) -> tuple[ProcessSample, ...]:
    """Any samples that a driver could write: some processes of some cases of some quads."""
    cases, quads = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    batches = st.lists(times, min_size=2 * quads, max_size=2 * quads).map(tuple)
    case = st.builds(CaseSample, st.integers(1, 50), batches, batches)
    names = [f"case{at}" for at in range(cases)]
    count = draw(st.integers(LOOKS[0], LOOKS[-1]))
    return tuple(
        ProcessSample(number, draw(st.fixed_dictionaries(dict.fromkeys(names, case)))) for number in range(count)
    )


def logs(verdict: Verdict) -> tuple[float, ...]:
    """The gain's three numbers as log ratios, in which swapping is a change of sign."""
    gain = verdict.gain
    return tuple(-math.log1p(-pct / 100) for pct in (gain.pct, gain.low, gain.high))


def test_words() -> None:
    assert judge(processes([5, 5.2, 4.8, 5.1, 4.9]), 2).word == "faster"
    assert judge(processes([-5, -5.2, -4.8]), 2).word == "slower"
    assert judge(processes([0, 0.1, -0.1, 0.05, -0.05]), 2).word == "same"
    assert judge(processes([9, -9, 3, -4, 1]), 2).word == "undecided"


def test_a_gain_below_the_asked_one_is_faster_but_not_accepted() -> None:
    verdict = judge(processes([1.5] * 7), 2)
    assert (verdict.word, verdict.accepted) == ("faster", False)
    assert (verdict.rule, verdict.least_pct) == ("too_little", 2)
    assert judge(processes([1.5] * 9), 1).accepted


def test_the_gain_is_percent_of_time_saved() -> None:
    gain = judge(processes([20] * 5), 2).gain
    assert gain.pct == pytest.approx(20)
    assert gain.low == pytest.approx(20)
    assert gain.confidence == 0.99


def test_an_acceptance_needs_a_second_look() -> None:
    steady = [5, 5.1, 4.9, 5, 5.1, 4.9, 5, 5.1, 4.9]
    assert judge(processes(steady), 2).accepted
    early = judge(processes(steady[:FEWEST_WON]), 2)
    assert early.word == "faster"
    assert not early.accepted
    assert early.rule == "unconfirmed"


def test_a_gain_that_only_the_last_processes_made_is_not_accepted() -> None:
    late = judge(processes([1, 1.1, 0.9, 1, 1, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]), 4.0)
    once = judge(processes([1.2, 3.4, 2.2, 1.2, 1.9, 1.9, 2.1, 2.9, 2.9]), 2)
    assert late.accepted
    assert once.word == "faster"
    assert once.gain.pct > 2
    assert not once.accepted


def test_one_wild_quad_does_not_move_a_process() -> None:
    calm = processes([5] * 7)
    spiked = CaseSample(10, (CALL_NS,) * 10, (round(CALL_NS * 0.95),) * 9 + (CALL_NS * 50,))
    noisy = (*calm[:6], ProcessSample(6, {"only": spiked}))
    assert judge(noisy, 2) == judge(calm, 2)


def test_cases_count_alike_whatever_they_cost() -> None:
    long = CaseSample(1, (10**10,) * 2, (10**10,) * 2)
    short = CaseSample(1, (1000,) * 2, (810,) * 2)
    verdict = judge([ProcessSample(n, {"long": long, "short": short}) for n in range(7)], 2)
    assert verdict.gain.pct == pytest.approx(10)


@settings(max_examples=examples(40))
@given(campaigns())
def test_swapping_the_two_sides_flips_the_sign(samples: tuple[ProcessSample, ...]) -> None:
    forward, back = logs(judge(samples, 2)), logs(judge(swapped(samples), 2))
    assert forward == pytest.approx((-back[0], -back[2], -back[1]), rel=1e-6, abs=1e-9)


@settings(max_examples=examples(40))
@given(campaigns(), st.sampled_from([2, 7, 1000]))
def test_slower_clocks_change_nothing(samples: tuple[ProcessSample, ...], factor: int) -> None:
    assert logs(judge(scaled(samples, factor), 2)) == pytest.approx(logs(judge(samples, 2)), rel=1e-6, abs=1e-9)


@settings(max_examples=examples(40))
@given(campaigns().flatmap(lambda samples: st.tuples(st.just(samples), st.permutations(samples))))
def test_the_order_of_processes_does_not_matter(pair: tuple[tuple[ProcessSample, ...], list[ProcessSample]]) -> None:
    samples, shuffled = pair
    assert judge(shuffled, 2) == judge(samples, 2)
    assert decide(shuffled, 2) == decide(samples, 2)


@settings(max_examples=examples(40))
@given(campaigns())
def test_the_raw_samples_give_the_identical_verdict_again(samples: tuple[ProcessSample, ...]) -> None:
    assert judge(samples_from_json(samples_to_json(samples)), 2) == judge(samples, 2)


@settings(max_examples=examples(40))
@given(campaigns(), st.floats(0, 20))
def test_an_acceptance_is_always_earned(samples: tuple[ProcessSample, ...], asked: float) -> None:
    verdict = judge(samples, asked)
    gain = verdict.gain
    assert gain.low <= gain.pct <= gain.high
    if verdict.accepted:
        assert verdict.word == "faster"
        assert gain.low > 0
        assert gain.pct >= asked
        assert verdict.processes > FEWEST_WON


@given(st.floats(-50, 50), st.integers(LOOKS[0], LOOKS[-1]))
def test_agreeing_processes_leave_no_doubt_however_many(gain: float, count: int) -> None:
    found = judge(processes([gain] * count), 2).gain
    assert found.high - found.low == pytest.approx(0, abs=1e-9)


def test_tainted_samples_are_left_out() -> None:
    kept = processes([5, 5.1, 4.9, 5, 5.1, 4.9, 5])
    spoilt = tuple(process(100 + at, -80, taint="the scheduler took the CPU away") for at in range(4))
    assert judge((*kept, *spoilt), 2) == judge(kept, 2)


@pytest.mark.parametrize("bad", [0, -5, math.nan, math.inf])
def test_a_time_that_is_no_time_is_refused(bad: float) -> None:
    broken = CaseSample(1, (CALL_NS, CALL_NS), (CALL_NS, bad))  # type: ignore[arg-type]
    with pytest.raises(BadSamples, match="process 3, case only"):
        judge((*processes([0, 0, 0]), ProcessSample(3, {"only": broken})), 2)


@pytest.mark.parametrize(
    "case",
    [
        CaseSample(1, (), ()),
        CaseSample(1, (5, 5), (5,)),
        CaseSample(1, (5, 5, 5), (5, 5, 5)),
        CaseSample(0, (5, 5), (5, 5)),
    ],
)
def test_batches_that_are_no_quads_are_refused(case: CaseSample) -> None:
    with pytest.raises(BadSamples, match="quads"):
        judge((*processes([0, 0, 0]), ProcessSample(3, {"only": case})), 2)


def test_processes_that_cannot_be_compared_are_refused() -> None:
    same_number = (*processes([0, 0, 0]), process(2, 0))
    other_case = (*processes([0, 0, 0]), ProcessSample(3, {"another": CaseSample(1, (5, 5), (5, 5))}))
    for samples in (same_number, other_case, tuple(ProcessSample(n, {}) for n in range(3))):
        with pytest.raises(BadSamples):
            judge(samples, 2)


def test_too_few_processes_are_no_verdict() -> None:
    with pytest.raises(BadSamples, match="only 1 untainted"):
        judge((*processes([5]), process(1, 5, taint="busy")), 2)


# ── how many processes it takes ───────────────────────────────────────────────────────────────────────────────────


def spent(gains: Sequence[float], asked: float = 2) -> int:
    """How many processes a candidate whose processes would show `gains` in turn is given."""
    count = 0
    while more := decide(processes(gains[:count]), asked):
        count += more
    return count


def test_the_first_batch_and_the_cap() -> None:
    assert decide((), 2) == LOOKS[0]
    assert spent([9, -9, 3, -4, 1] * 3) == LOOKS[-1]


def test_a_slower_candidate_stops_early_and_one_that_is_far_slower_at_once() -> None:
    assert spent([-5, -5.1, -4.9] * 5) == 3
    assert spent([-25, -25.1, -24.9] * 5) == LOOKS[0]
    assert spent([-25, -12, -30] * 5) > 3


def test_two_processes_that_look_alike_by_chance_are_not_enough_for_a_small_loss() -> None:
    assert judge(processes([-5, -5]), 2).word == "no_gain"
    assert judge(processes([-5, -5, -5]), 2).word == "slower"
    assert judge(processes([-15, -15]), 2).word == "slower"
    assert spent([-3, -3, 5, 5, 5] * 3) > FEWEST


def test_a_null_on_a_quiet_machine_stops_as_soon_as_a_gain_is_ruled_out() -> None:
    assert spent([0.1, -0.1, 0] * 5) == FEWEST


def test_a_clear_gain_is_confirmed_once() -> None:
    assert spent([5, 5.1, 4.9] * 5) == 9


def test_a_borderline_gain_gets_more() -> None:
    assert 7 < spent([2.6, 1.2, 3.4, 0.9, 2.9, 2.2, 1.6, 3.1, 2.4, 1.8, 2.7, 2.0, 3.0, 1.4, 2.6]) <= LOOKS[-1]


def test_tainted_processes_are_asked_for_again() -> None:
    spoilt = (process(100, 0, taint="busy"), process(101, -80, taint="busy"))
    assert decide((*processes([5, 5.1, 4.9, 5]), *spoilt), 2) == 1
