"""Whether a gain is there by the driver's own clock, which no kernel can reach."""

from dataclasses import replace
from math import exp
from random import Random

import pytest

from kpd.measure.audits import AuditSamples, refuse_gain, summary, wants_more
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.fresh_clock import FAR_SHORTER, HEARD_LATER_NS, PAIRS_A_PLACE, SHORT_NS, gain_by_clock
from kpd.measure.fresh_gains import clocked_gain, fresh_gain
from kpd.measure.samples import CaseSample, DriverClock, ProcessSample
from kpd.model.faults import GainNotHeld
from kpd.model.verdicts import Gain
from kpd.text.faults import fault


def test_a_gain_by_times_that_the_driver_does_not_see_is_none() -> None:
    """The candidate's processes say 8 % less than their calls take: less than the clocks of a process may differ by."""
    contest = [ProcessSample(n, {"case": CaseSample(1, (1000 + n,), (920 + n,))}) for n in range(9)]

    def alone(seen_b: int) -> AuditSamples:
        clocks = (DriverClock(102_000, 100_000), DriverClock(seen_b, 92_000))
        cases = (
            CaseSample(1, (ns,) * 2, (ns,) * 2, clock=clock) for ns, clock in zip((1000, 920), clocks, strict=True)
        )
        a, b = cases
        processes = tuple(ProcessSample(n, {"case": b if n % 2 else a}) for n in range(6))
        return AuditSamples({"case": FreshCase(1, 1, True, (1000,) * 20, (920,) * 20)}, processes, 0.5, 1.0)

    claimed = Gain(8.0, 7.5, 8.5)
    assert refuse_gain(summary(alone(93_840), contest), claimed) is None
    refused = refuse_gain(summary(alone(102_000), contest), claimed)
    assert isinstance(refused, GainNotHeld)
    assert refused.audit == "driver"
    assert "by the driver's own clock" in fault(refused)


def clocked(a_ns: int, b_ns: int, a_passed: int, b_passed: int) -> FreshCase:
    ns = tuple(a_ns + n % 5 for n in range(40)), tuple(b_ns + n % 5 for n in range(40))
    passed = tuple(a_passed + n % 7 for n in range(40)), tuple(b_passed + n % 7 for n in range(40))
    return FreshCase(1, 8, True, *ns, *ns, (), *passed)


@pytest.mark.parametrize(
    ("fresh", "held"),
    [
        pytest.param(clocked(40_000, 30_000, 60_000, 50_000), True, id="honest"),
        pytest.param(clocked(40_000, 30_000, 60_000, 60_000), False, id="its calls begin later than they do"),
        pytest.param(clocked(40_000, 30_000, 90_000, 80_000), True, id="waking takes longer for both"),
        pytest.param(FreshCase(1, 8, True, (40_000,) * 40, (30_000,) * 40), True, id="older samples"),
    ],
)
def test_a_gain_on_fresh_inputs_is_there_by_the_drivers_clock(fresh: FreshCase, held: bool) -> None:
    contest = [
        ProcessSample(n, {"case": CaseSample(1, (38_000 + 9 * n,) * 2, (28_500 + 9 * n,) * 2)}) for n in range(9)
    ]
    refused = refuse_gain(
        summary(AuditSamples({"case": fresh}, tuple(contest), 0.5, 1.0), contest), Gain(25.0, 24.5, 25.5)
    )
    assert (refused is None) == held
    if refused is not None:
        assert refused.audit == "clocked"
        assert "by the driver's own clock" in fault(refused)


@pytest.mark.parametrize(
    ("a_ns", "told", "later", "gain"),
    [
        (SHORT_NS - 1, 2000, HEARD_LATER_NS, 2000),  # as its process tells
        (SHORT_NS - 1, 2000, HEARD_LATER_NS + 100, 2100),
        (SHORT_NS, 2000, HEARD_LATER_NS, 2000 + HEARD_LATER_NS),
        (SHORT_NS - 1, 2000, -500, 1500),  # no more than the clock says
    ],
)
def test_of_a_short_call_the_driver_may_hear_later(a_ns: float, told: float, later: float, gain: float) -> None:
    """Whatever its process tells, what the driver's clock says beyond that counts."""
    passed = 15_000 + a_ns, 15_000 + told + later
    fresh = FreshCase(1, 4, True, *((round(one),) * 40 for one in (a_ns, told)), a_passed_ns=(round(passed[0]),) * 40,
                      b_passed_ns=(round(passed[1]),) * 40)  # fmt: skip
    contest = [ProcessSample(n, {"case": CaseSample(1, (a_ns,), (told,))}) for n in range(9)]
    found = clocked_gain({"case": fresh}, contest)
    assert found is not None
    assert found.pct == pytest.approx(100 * (1 - gain / a_ns), abs=0.1)


@pytest.mark.parametrize("slow", [0.0, 0.4])
def test_what_a_kernel_takes_more_in_some_places_hides_no_gain(slow: float) -> None:
    """As of a convolution: in each place of the code a call takes one of two times, whichever kernel it is."""
    rng = Random(3)
    places = [[20_000 * (rng.random() < slow) for _ in range(16)] for _ in range(2)]
    a, b = (
        [whole + some[n // PAIRS_A_PLACE] for n in range(48)]
        for whole, some in zip((100_000, 90_000), places, strict=True)
    )
    passed = [[ns + 15_000 + (n % PAIRS_A_PLACE) * 50_000 for n, ns in enumerate(calls)] for calls in (a, b)]
    gain, _ = gain_by_clock(a, b, *passed)
    assert 100 * (1 - exp(-gain)) == pytest.approx(10.0, abs=2.0), "other work in two of three calls does not, either"


UNEVEN = (0, 300_000, 700_000, 1_600_000, 2_400_000, 100_000, 500_000, 3_000_000)
"""What calls of the incumbent take longer than the shortest one, as seen of a kernel that takes 3 ms."""


def uneven(b_told: int, b_passed: int) -> FreshCase:
    a_ns = tuple(3_000_000 + more for more in UNEVEN)
    passed = tuple(ns + 14_000 + n for n, ns in enumerate(a_ns)), tuple(b_passed + 300 * n for n in range(8))
    return FreshCase(1, 4, True, a_ns, (b_told,) * 8, a_ns, (b_told,) * 8, (), *passed)


@pytest.mark.parametrize(("passed", "held"), [(114_000, True), (3_014_000, False)])
def test_calls_of_the_incumbent_that_differ_by_more_than_the_candidates_take_leave_no_doubt(
    passed: int, held: bool
) -> None:
    """Seen of matrix products, 30 times as fast: what the two kernels' calls differ by was off by a whole call."""
    contest = [ProcessSample(n, {"case": CaseSample(1, (3_400_000 + n,), (100_000 + n,))}) for n in range(9)]
    found = summary(AuditSamples({"case": uneven(100_000, passed)}, tuple(contest), 0.5, 1.0), contest)
    claimed = Gain(97.0, 96.9, 97.1)
    assert found.clocked is not None
    assert found.clocked.pct == pytest.approx(96.8 if held else 0.0, abs=0.2 if held else 10.0)
    refused = refuse_gain(found, claimed)
    assert (refused is None) == held
    if held:
        assert not wants_more(found, claimed)
    else:
        assert isinstance(refused, GainNotHeld)
        assert refused.audit == "clocked"


@pytest.mark.parametrize(("told", "one_by_one"), [(FAR_SHORTER, True), (FAR_SHORTER * 0.999, False)])
def test_only_calls_that_are_far_shorter_are_compared_one_by_one(told: float, one_by_one: bool) -> None:
    middle = 3_600_000
    case = uneven(round(middle / told), 114_000)
    contest = [ProcessSample(n, {"case": CaseSample(1, (middle,), (100_000 + n,))}) for n in range(9)]
    found = clocked_gain({"case": case}, contest)
    assert found is not None
    assert (found.low > 90) == one_by_one


@pytest.mark.parametrize(("slow", "seen"), [(PAIRS_A_PLACE - 1, True), (PAIRS_A_PLACE, False)])
def test_on_fresh_inputs_too_the_quickest_of_the_calls_in_a_place_counts(slow: int, seen: bool) -> None:
    """Seen of matrix products: code that lies badly made the calls in a third of all places longer by a third."""
    longer = tuple(1300 if n % PAIRS_A_PLACE < slow else 950 for n in range(48))
    usual, passed = (1000,) * 48, (1060,) * 48
    case = FreshCase(1, 1, True, usual, longer, a_passed_ns=passed, b_passed_ns=passed)
    contest = [ProcessSample(n, {"case": CaseSample(1, (1000 + n,), (950,))}) for n in range(9)]
    assert (fresh_gain({"case": case}, contest).pct > 0) == seen
    together = replace(case, a_passed_ns=(), b_passed_ns=())
    assert fresh_gain({"case": together}, contest).pct < 0, "where both kernels are in one process, each call does"
