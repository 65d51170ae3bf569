"""How often audits refuse a gain that is not there, and one that is: simulated, on quiet machines and busy ones."""

from math import exp, hypot, log
from random import Random
from statistics import fmean

import pytest

from kpd.measure.audit_gains import FreshCase
from kpd.measure.audits import MOST_AUDITS, AuditSamples, joined, refuse_gain, seems_missing, summary
from kpd.measure.interval import half_width
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.audits import AuditSummary
from kpd.model.verdicts import Gain

NOISES = [(0.01, 0.01), (0.05, 0.02), (0.2, 0.05), (0.4, 0.2)]
"""Of a call and between processes, as the standard deviation of the logarithm of a time."""


@pytest.mark.parametrize("gain_pct", [2.0, 10.0, 50.0])
@pytest.mark.parametrize("noise", NOISES)
def test_a_gain_that_is_there_is_hardly_ever_refused(gain_pct: float, noise: tuple[float, float]) -> None:
    quick = log(1 - gain_pct / 100)
    refused = [refuse_gain(*one) is not None for one in audited_as_in_an_iteration(*noise, quick, quick)]
    assert sum(refused) <= 1


@pytest.mark.parametrize(("gain_pct", "shares"), [(10.0, (1.0, 1.0, 0.6, 0.1)), (45.0, (1.0, 1.0, 1.0, 0.99))])
def test_a_gain_that_only_the_contest_sees_is_refused_the_more_often_the_quieter_it_is(
    gain_pct: float, shares: tuple[float, ...]
) -> None:
    for noise, least in zip(NOISES, shares, strict=True):
        tries = audited_as_in_an_iteration(*noise, log(1 - gain_pct / 100), 0.0)
        assert sum(refuse_gain(*one) is not None for one in tries) >= least * len(tries), noise


@pytest.mark.parametrize(("gain_pct", "by_place"), [(2.0, 0.01), (10.0, 0.02), (10.0, 0.05), (10.0, 0.1), (50.0, 0.1)])
def test_a_gain_that_differs_from_place_to_place_of_the_code_is_hardly_ever_refused(
    gain_pct: float, by_place: float
) -> None:
    quick = log(1 - gain_pct / 100)
    refused = [refuse_gain(*one) is not None for one in audited_as_in_an_iteration(0.005, 0.01, quick, quick, by_place)]
    assert len(refused) >= 20
    assert sum(refused) <= 0.05 * len(refused)


@pytest.mark.parametrize("by_process", [0.05, 0.1])
def test_a_gain_of_another_size_in_each_process_is_refused_where_fresh_inputs_have_none(by_process: float) -> None:
    """As of a kernel that keeps another share of its results in each: what makes it doubtful is its own doing."""
    tries = audited_as_in_an_iteration(0.01, 0.04, log(0.85), 0.0, by_process=by_process)
    assert sum(refuse_gain(*one) is not None for one in tries) >= 0.95 * len(tries)
    tries = audited_as_in_an_iteration(0.01, 0.04, log(0.85), log(0.85), by_process=by_process)
    assert len(tries) >= 20
    assert sum(refuse_gain(*one) is not None for one in tries) <= 0.05 * len(tries)


def audited_as_in_an_iteration(
    of_a_call: float, between: float, quick: float, truly: float, by_place: float = 0.0, by_process: float = 0.0
) -> list[tuple[AuditSummary, Gain]]:
    """Simulate 60 contests that see the gain `quick`, a logarithm, and audits, until they decide, that see `truly`.

    The candidate's code has another time in each of four places: as much in a case's audit. Its gain is another one in
    each process, by `by_process`, on fresh inputs, too, if it has any there. Return what the contest would accept.
    """
    rng, done = Random(17), []

    def process(number: int, a: float, b: float) -> ProcessSample:
        return ProcessSample(number, {"case": CaseSample(1, (round(1e6 * exp(a)),), (round(1e6 * exp(b)),))})

    def calls(mean: float) -> tuple[int, ...]:
        return tuple(round(1e6 * exp(mean + rng.gauss(0, of_a_call))) for _ in range(40))

    def taken() -> AuditSamples:
        whole, places = rng.gauss(0, between), [rng.gauss(0, by_place) for _ in range(4)]
        own = truly + rng.gauss(0, by_process if truly else 0.0)
        b_ns, swapped_b_ns = (
            tuple(round(ns * exp(places[n // 10])) for n, ns in enumerate(calls(whole + own))) for _ in range(2)
        )
        fresh = FreshCase(1, 1, True, calls(whole), b_ns, calls(whole), swapped_b_ns)
        alone = (rng.gauss(n % 2 * truly, between) for n in range(8))
        return AuditSamples({"case": fresh}, tuple(process(n, side, side) for n, side in enumerate(alone)), 0.5, 1.0)

    for _ in range(60):
        both = [rng.gauss(0, between) for _ in range(9)]
        pairs = [
            (rng.gauss(one, 0.3 * between), rng.gauss(one + quick, hypot(0.3 * between, by_process))) for one in both
        ]
        contest = [process(n, *pair) for n, pair in enumerate(pairs)]
        ratios = [a - b for a, b in pairs]
        middle, half = fmean(ratios), half_width(ratios, 0.99)
        claimed = Gain(*(100 * (1 - exp(-some)) for some in (middle, middle - half, middle + half)))
        if claimed.low < 1.0:
            continue
        audit = taken()
        for _ in range(MOST_AUDITS - 1):
            if seems_missing(summary(audit, contest), claimed):
                audit = joined(audit, taken())
        done.append((summary(audit, contest), claimed))
    return done
