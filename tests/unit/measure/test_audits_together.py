"""Audits in which one process has both kernels, or nobody else's clock is there: three of them decide."""

from math import exp, log
from random import Random

import pytest

from kpd.measure.audits import SMALL_PCT, AuditSamples, joined, refuse_gain, summary, wants_more
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.fresh_gains import PAIRS_IN_A_ROW
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.verdicts import Gain

PAIRS, TRIES = 40, 100
CALL_NS = 1e6
QUICK = log(0.5)
CLAIMED = Gain(50.0, 49.5, 50.5)


def accepted(fresh: float, many: int = 1, slower: float = 0.0, noise: float = 0.003) -> int:
    """Count how often a gain of half the time is accepted, whose calls on fresh inputs take `fresh` more, a logarithm.

    Of groups of so `many` of these calls every other one, by chance, takes `slower` more.
    """
    rng = Random(1)

    def took(more: float = 0.0) -> int:
        return round(CALL_NS * exp(more + rng.gauss(0, noise)))

    def audit() -> AuditSamples:
        groups = [slower * (rng.random() < 0.5) for _ in range(PAIRS // many)]
        b_ns = tuple(took(fresh + groups[n // many]) for n in range(PAIRS))
        alone = tuple(process(n, *[took(n % 2 * QUICK)] * 2) for n in range(6))
        case = FreshCase(8, 4, True, tuple(took() for _ in range(PAIRS)), b_ns)
        return AuditSamples({"case": case}, alone, 0.5, 1.0)

    def process(number: int, a: int, b: int) -> ProcessSample:
        return ProcessSample(number, {"case": CaseSample(1, (a,), (b,))})

    counted = 0
    for _ in range(TRIES):
        contest = [process(n, took(), took(QUICK)) for n in range(9)]
        found = audit()
        while wants_more(summary(found, contest), CLAIMED):
            found = joined(found, audit())
        counted += refuse_gain(summary(found, contest), CLAIMED) is None
    return counted


@pytest.mark.parametrize("many", [1, PAIRS_IN_A_ROW])
@pytest.mark.parametrize("slower", [0.0, 1.0, 3.0, 5.0])
def test_a_kernel_that_makes_its_own_times_differ_hides_no_missing_gain(many: int, slower: float) -> None:
    assert accepted(0.0, many, slower) == 0


@pytest.mark.parametrize("noise", [0.003, 0.2])
def test_a_gain_that_is_there_is_accepted(noise: float) -> None:
    assert accepted(QUICK, noise=noise) >= 0.99 * TRIES
    assert accepted(QUICK, PAIRS_IN_A_ROW, 0.1, noise) >= 0.99 * TRIES


def by_turns(gain: float, noise: float = 0.06, hides: float = 0.0, claimed: Gain = CLAIMED) -> int:
    """Count how often a gain is accepted, of which so much, a logarithm, is there where either has its own process.

    The host's speed differs by a factor of 1.5. In every other process, by chance, the candidate's calls take `hides`
    more, a logarithm. One such process is an audit's.
    """
    rng, counted, told = Random(2), 0, log(1 - claimed.pct / 100)

    def process(number: int, more: float, differs: float, apart: bool) -> ProcessSample:
        host = CALL_NS * exp(rng.choice([0.0, 0.4]))
        a, b = round(host), round(host * exp(more + rng.gauss(0, differs)))
        return ProcessSample(number, {"case": CaseSample(1, (a,), (b,))}, apart=apart)

    def audit() -> AuditSamples:
        a_ns, b_ns = (tuple(round(CALL_NS * exp(more)) for _ in range(PAIRS)) for more in (0.0, told))
        alone = process(0, gain + hides * (rng.random() < 0.5), noise, True)
        return AuditSamples({"case": FreshCase(8, 4, True, a_ns, b_ns)}, (alone,), 0.5, 1.0)

    for _ in range(TRIES):
        contest = [process(n, told, 0.02, False) for n in range(9)]
        found = audit()
        while wants_more(summary(found, contest), claimed):
            found = joined(found, audit())
        counted += refuse_gain(summary(found, contest), claimed) is None
    return counted


@pytest.mark.parametrize(("noise", "hides"), [(0.02, 0.0), (0.06, 0.0), (0.06, 1.0), (0.06, 5.0)])
def test_a_gain_that_needs_the_other_kernel_beside_it_is_refused(noise: float, hides: float) -> None:
    """Whatever the candidate does to its own times."""
    assert by_turns(0.0, noise, hides) == 0


@pytest.mark.parametrize("noise", [0.02, 0.06, 0.1])
def test_a_gain_that_is_there_by_turns_is_accepted(noise: float) -> None:
    assert by_turns(QUICK, noise) >= 0.99 * TRIES


@pytest.mark.parametrize(("pct", "all_accepted"), [(SMALL_PCT - 0.1, True), (SMALL_PCT, False)])
def test_of_a_small_gain_one_process_an_audit_tells_nothing(pct: float, all_accepted: bool) -> None:
    claimed = Gain(pct, pct - 0.5, pct + 0.5)
    assert (by_turns(0.0, 0.02, claimed=claimed) == TRIES) is all_accepted
