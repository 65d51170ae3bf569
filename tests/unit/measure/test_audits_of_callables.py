"""Audits in which each kernel has a process of its own and there is one clock: of callables on a CPU."""

from math import exp, log
from random import Random

import pytest
from msgspec import structs

from kpd.measure.audits import (
    FEWEST_REFUSING,
    MOST_AUDITS,
    MOST_TOGETHER,
    SMALL_PCT,
    AuditSamples,
    joined,
    refuse_gain,
    refuse_kept,
    summary,
    wants_alone,
    wants_more,
)
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.judge import percent
from kpd.measure.python.host.timing import FRESH_PAIRS
from kpd.measure.samples import Batches, CaseSample, ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.faults import GainNotHeld, GainUnconfirmed
from kpd.model.verdicts import Gain

CALL_NS, PAIRS, TRIES = 1e5, 40, 100
CLAIMED = Gain(2.0, 1.9, 2.1)


def seen(gain: float) -> AuditedGain:
    return AuditedGain(gain, gain - 0.1, gain + 0.1)


def found(fresh: AuditedGain, alone: float = 2.0, times: int = 1, steady: float | None = None) -> AuditSummary:
    return AuditSummary(fresh, seen(alone), 160, 8, 1.5, times=times, steady=steady, apart=True)


def process(number: int, a: float, b: float) -> ProcessSample:
    return ProcessSample(number, {"case": CaseSample(1, (round(a),), (round(b),))})


def test_what_the_runner_says_of_its_processes_is_told() -> None:
    case = FreshCase(1, 1, True, (100,) * 8, (98,) * 8, apart=True)
    contest = [process(n, 1e5 + n, 98e3) for n in range(9)]
    one = AuditSamples({"case": case}, tuple(process(n, *[1e5 - n % 2 * 2000] * 2) for n in range(6)), 0.5, 1.0)
    assert summary(one, contest).apart
    assert summary(joined(one, one), contest).apart
    other = AuditSamples({"case": FreshCase(1, 1, True, (100,) * 8, (98,) * 8)}, one.alone, 0.5, 1.0)
    assert not summary(other, contest).apart
    assert not summary(joined(one, other), contest).apart


@pytest.mark.parametrize("times", [MOST_TOGETHER, MOST_AUDITS - 1, MOST_AUDITS])
def test_they_are_as_many_as_those_of_objects(times: int) -> None:
    case = FreshCase(1, 1, True, (100,) * 8, (98,) * 8, apart=True)
    contest = [process(n, 1e5 + n, 98e3) for n in range(9)]
    alone = tuple(process(n, *[1e5 - n % 2 * 2000] * 2) for n in range(6))
    samples = AuditSamples({"case": case}, alone, 0.5, 1.0, times)
    assert (summary(samples, contest).steady is None) == (times < MOST_AUDITS)


@pytest.mark.parametrize(
    ("claimed", "times", "more"), [(SMALL_PCT - 0.01, 1, True), (SMALL_PCT, 1, False), (SMALL_PCT - 0.01, 2, False)]
)
def test_one_does_not_tell_of_a_small_gain(claimed: float, times: int, more: bool) -> None:
    assert wants_more(found(seen(claimed), claimed, times), Gain(claimed, claimed, claimed)) == more


@pytest.mark.parametrize(("low", "more"), [(0.01, False), (-0.01, True)])
def test_nor_do_some_whose_gain_may_be_nothing(low: float, more: bool) -> None:
    assert wants_more(found(AuditedGain(2.0, low, 4.0), times=5), CLAIMED) == more


@pytest.mark.parametrize(("times", "more"), [(FEWEST_REFUSING - 1, True), (FEWEST_REFUSING, False)])
def test_few_refuse_no_gain(times: int, more: bool) -> None:
    nothing = found(seen(0.0), times=times)
    assert isinstance(refuse_gain(nothing, CLAIMED), GainNotHeld)
    assert wants_more(nothing, CLAIMED) == more


@pytest.mark.parametrize(("share", "accepted"), [(0.51, True), (0.49, False)])
def test_after_the_last_one_half_of_the_gain_must_be_seen(share: float, accepted: bool) -> None:
    wide = AuditedGain(percent(0.2 * share), -5.0, 30.0)
    claimed = Gain(100 * (1 - exp(-0.2)), 1.0, 40.0)
    told = found(wide, percent(0.2), MOST_AUDITS, 0.0)
    assert isinstance(refuse_gain(told, claimed), GainUnconfirmed) != accepted
    assert refuse_gain(structs.replace(told, steady=None), claimed) is None


@pytest.mark.parametrize(
    ("claimed", "times", "more"),
    [
        (SMALL_PCT, MOST_TOGETHER - 1, True),
        (SMALL_PCT, MOST_TOGETHER, False),
        (SMALL_PCT - 0.01, MOST_TOGETHER - 1, False),
    ],
)
def test_each_alone_tells_little_and_is_timed_few_times(claimed: float, times: int, more: bool) -> None:
    gain = Gain(claimed, claimed, claimed)
    doubtful = structs.replace(found(seen(claimed), times=times), alone=AuditedGain(0.0, -30.0, 30.0))
    assert wants_more(doubtful, gain) == more
    assert wants_alone(doubtful, gain) == more
    assert not wants_alone(structs.replace(doubtful, alone=seen(0.6 * claimed)), gain), "it seems to be there"


@pytest.mark.parametrize(("claimed", "refused"), [(SMALL_PCT - 0.01, False), (SMALL_PCT, True)])
def test_each_alone_refuses_no_small_gain(claimed: float, refused: bool) -> None:
    gain = Gain(claimed, claimed - 0.1, claimed + 0.1)
    assert (refuse_gain(found(seen(claimed), alone=-5.0, times=MOST_TOGETHER), gain) is not None) == refused


@pytest.mark.parametrize(("processes", "sure"), [(11, False), (12, True)])
def test_a_few_processes_of_each_alone_are_not_the_last_ones(processes: int, sure: bool) -> None:
    """Before the last ones their error is that of the contest's at the least."""
    case = FreshCase(1, 1, True, (100,) * 8, (98,) * 8, apart=True)
    contest = [process(n, 1e5 + 5e3 * n, 98e3) for n in range(9)]
    alone = tuple(process(n, *[1e5 - n % 2 * 2000] * 2) for n in range(processes))
    told = summary(AuditSamples({"case": case}, alone, 0.5, 1.0, MOST_AUDITS), contest).alone
    assert (told.high - told.low < 1e-6) == sure


def accepted(fresh: float, gain: float = 0.02, spread: float = 0.0) -> tuple[int, float]:
    """Count how often a gain in the contest is accepted, of which `fresh` is there on fresh inputs.

    Return the mean number of audits, too. Processes of the contest differ by 0.5 %, those of audits by 1 %, and all by
    `spread` besides; calls by 4 %, each alone by 20 %.
    """
    rng, counted, many = Random(7), 0, 0

    def took(saved: float, noise: float) -> float:
        return CALL_NS * exp(log(1 - saved) + rng.gauss(0, noise))

    def calls(saved: float, state: float, pairs: int = PAIRS) -> tuple[int, ...]:
        return tuple(round(took(saved, 0.04) * state) for _ in range(pairs))

    def timed(number: int) -> ProcessSample:
        states = [exp(rng.gauss(0, 0.005 + spread)) for _ in "ab"]
        ns = ((round(CALL_NS * (1 - saved) * state),) for saved, state in zip((0.0, gain), states, strict=True))
        anew = (calls(saved, state, FRESH_PAIRS) for saved, state in zip((0.0, fresh), states, strict=True))
        return ProcessSample(number, {"case": CaseSample(1, *ns, fresh=Batches(1, *anew))})

    def audit() -> AuditSamples:
        case = FreshCase(1, 9, True, calls(0.0, 1.0), calls(fresh, exp(rng.gauss(0, 0.01 + spread))), apart=True)
        alone = tuple(process(n, *[took(gain * (n % 2), 0.2)] * 2) for n in range(6))
        return AuditSamples({"case": case}, alone, 0.5, 1.0)

    for _ in range(TRIES):
        contest = [timed(number) for number in range(9)]
        claimed = Gain(100 * gain, (90 - 300 * spread) * gain, (110 + 300 * spread) * gain)
        samples = audit()
        if refuse_kept(contest, claimed) is None:
            while wants_more(summary(samples, contest), claimed):
                samples = joined(samples, audit())
            counted += refuse_gain(summary(samples, contest), claimed) is None
        many += samples.times
    return counted, many / TRIES


def test_a_small_gain_that_is_not_there_is_refused_and_one_that_is_there_accepted() -> None:
    assert accepted(-0.01)[0] == 0
    assert accepted(0.0)[0] <= 0.15 * TRIES  # 43 of 100 before, with three audits at most
    there, many = accepted(0.02)
    assert there >= 0.95 * TRIES
    assert many < 6


@pytest.mark.parametrize("gain", [0.1, 0.3])
def test_a_large_gain_that_is_there_needs_one(gain: float) -> None:
    there, many = accepted(gain, gain)
    assert there == TRIES
    assert many < 2


@pytest.mark.parametrize("spread", [0.0, 0.08])
@pytest.mark.parametrize(("fresh", "gain"), [(0.2, 0.3), (0.09, 0.2)])
def test_what_is_there_only_while_inputs_hardly_change_is_refused(fresh: float, gain: float, spread: float) -> None:
    """Also where part of the gain is there, and processes differ so much that audits leave doubt."""
    assert accepted(fresh, gain, spread)[0] <= 0.01 * TRIES
