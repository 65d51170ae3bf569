"""What the audits' samples say of a gain, at and around each bound."""

from math import exp, log
from random import Random

import pytest
from msgspec import structs

from kpd.measure.audit_gains import alone_gain
from kpd.measure.audits import MOST_TOGETHER, AuditSamples, joined, refuse_gain, summary, wants_more
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.fresh_clock import PAIRS_A_PLACE
from kpd.measure.fresh_gains import cold_share, fresh_gain, kept_gain
from kpd.measure.judge import percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.faults import GainNotHeld
from kpd.model.verdicts import Gain
from kpd.text.audits import summary as told
from kpd.text.faults import fault
from tests.places import ROOT
from tests.support.measure.contested import contested

FOUR_FIFTHS = 100 * (1 - 0.64**0.8)
"""A gain whose logarithm is 0.8 of that of 36 %."""


def audited(high: float) -> AuditedGain:
    return AuditedGain(high - 2, high - 4, high)


HALF = 20.0
"""Half of it: 0.8 · 0.8 = 0.64."""


@pytest.mark.parametrize(
    ("audit", "high", "held"),
    [
        ("fresh", FOUR_FIFTHS + 0.01, True),
        ("fresh", FOUR_FIFTHS - 0.01, False),
        ("alone", HALF + 0.01, True),
        ("alone", HALF - 0.01, False),
    ],
)
def test_most_of_the_gain_must_be_possible_in_each_audit(audit: str, high: float, held: bool) -> None:
    good, this = audited(36.0), audited(high)
    found = AuditSummary(this if audit == "fresh" else good, good if audit == "fresh" else this, 160, 8, 1.5)
    refused = refuse_gain(found, Gain(36.0, 36.0, 44.0))
    if held:
        assert refused is None
    else:
        assert isinstance(refused, GainNotHeld)
        assert refused.audit == audit
        assert "+36.0 %" in fault(refused)


@pytest.mark.parametrize(("more", "held"), [(0.001, True), (-0.001, False)])
def test_a_gain_may_be_missing_as_far_as_both_errors_together_reach(more: float, held: bool) -> None:
    """Errors of 0.3 and 0.4 are one of 0.5 in their difference: it is 0.8 of a logarithm of 1 that is looked for."""
    claimed = Gain(percent(1.0), percent(1.0 - 0.3 / 0.8), percent(1.4))
    fresh = AuditedGain(percent(0.3 + more), percent(-0.1), percent(0.7 + more))
    found = AuditSummary(fresh, audited(60.0), 160, 8, 1.5)
    assert (refuse_gain(found, claimed) is None) == held


def test_a_gain_without_bound_can_be_refused() -> None:
    found = AuditSummary(audited(100.0), audited(0.0), 160, 8, 1.5)
    refused = refuse_gain(found, Gain(100.0, 100.0, 100.0))
    assert refused is not None
    assert refused.audit == "alone"


@pytest.mark.parametrize(("cold", "held"), [(0.5, True), (0.99, False)])
def test_what_cold_caches_cost_the_incumbent_they_may_cost_the_candidate(cold: float, held: bool) -> None:
    found = AuditSummary(audited(20.0), audited(36.0), 160, 8, 1.5, cold=cold)
    assert (refuse_gain(found, Gain(40.0, 36.0, 44.0)) is None) == held


def test_a_short_call_keeps_less_of_its_gain_where_caches_are_cold() -> None:
    def share(a_ns: int) -> float:
        return cold_share({"same": FreshCase(1, 1, True, (a_ns,) * 4, (1,) * 4)}, contested((3000, 1000)))

    assert share(3000) == 1.0
    assert share(2000) == 1.0, "a call that is shorter there has no such cost"
    assert share(5500) == pytest.approx(log(5.5 / 3.52) / log(3))
    assert share(3010) == pytest.approx(log(3.01 / 1.02) / log(3)), "twice as much, where that is less"


@pytest.mark.parametrize(
    ("beside", "a_shown", "share"),
    [
        (0, 9000, 1.0),
        (1000, 9000, 1.0),
        (1010, 9000, log(9000 / 1005) / log(9)),
        (4000, 9000, log(9000 / 2500) / log(9)),
        (12_000, 10_500, log(10_500 / 6500) / log(9)),
        (12_000, 10_700, log(10_700 / 6710) / log(9)),  # a call of the incumbent takes 400 ns more there
    ],
)
def test_what_a_batch_takes_besides_hides_a_part_of_a_gain(beside: int, a_shown: int, share: float) -> None:
    """It takes that besides a call; what is over half of both is taken off."""
    fresh = FreshCase(2, 1, True, (2 * a_shown,) * 4, (1,) * 4, request_ns=2 * beside)
    assert cold_share({"same": fresh}, contested((9000, 1000))) == pytest.approx(share)


@pytest.mark.parametrize(("request_ns", "quickest"), [(0, False), (2, True)])
def test_a_callables_call_is_longer_than_in_the_incumbents_quickest_process(request_ns: int, quickest: bool) -> None:
    fresh = FreshCase(1, 1, True, (9000,) * 4, (1,) * 4, request_ns=request_ns)
    contest = contested((9000, 3000)) + contested((9000, 3000))[:1] + contested((8000, 3000))[:1]
    more = 1000 if quickest else 0
    assert cold_share({"same": fresh}, contest) == pytest.approx(
        log((9000 + more) / (3000 + more + more / 50)) / log(3)
    )


def test_a_gain_of_a_few_nanoseconds_a_call_is_there_on_fresh_inputs_too() -> None:
    """An honest kernel whose other case, as long as ever, is of memory: seen on a quiet machine."""
    cases = {
        "same": FreshCase(1, 1, True, (190,) * 40, (170,) * 40),
        "half": FreshCase(1, 1, True, (159_000,) * 40, (162_000,) * 40),
    }
    contest = contested((154, 121), (99_000, 99_000))
    audit = AuditSamples(cases, tuple(contest), 0.5, 1.0, MOST_TOGETHER)
    assert refuse_gain(summary(audit, contest), Gain(11.3, 10.2, 12.4)) is None


@pytest.mark.parametrize(
    ("claimed", "low", "held"),
    [(90.0, 20.56, True), (90.0, 20.57, False), (5.0, 2.955, True), (5.0, 2.956, False)],
)
def test_little_of_the_gain_may_be_there_only_while_inputs_hardly_change(
    claimed: float, low: float, held: bool
) -> None:
    """A tenth of the logarithm of what 90 % are, or 0.03."""
    kept = AuditedGain(low + 2, low, low + 4)
    found = AuditSummary(audited(claimed), audited(claimed), 160, 8, 1.5, kept=kept, clocked=audited(claimed))
    refused = refuse_gain(found, Gain(claimed, claimed, claimed))
    if held:
        assert refused is None
    else:
        assert isinstance(refused, GainNotHeld)
        assert refused.audit == "kept"
        assert "only while inputs hardly change" in fault(refused)


@pytest.mark.parametrize(
    ("low", "pct", "held"), [(10.8, 20.6, True), (10.9, 20.5, True), (10.9, 20.6, False), (-1.0, 80.0, True)]
)
def test_less_of_it_has_to_be_sure_where_a_process_has_both_kernels(low: float, pct: float, held: bool) -> None:
    """A twentieth of the logarithm of what 90 % are."""
    found = AuditSummary(audited(90.0), audited(90.0), 160, 8, 1.5, kept=AuditedGain(pct, low, 85.0))
    assert (refuse_gain(found, Gain(90.0, 90.0, 90.0)) is None) == held


@pytest.mark.parametrize(("fresh", "held"), [(50.0, True), (49.9, False)])
def test_nothing_is_kept_where_all_of_the_gain_is_there_on_fresh_inputs(fresh: float, held: bool) -> None:
    kept, gain = AuditedGain(30.0, 20.0, 40.0), AuditedGain(fresh, fresh - 1, fresh + 1)
    found = AuditSummary(gain, audited(50.0), 160, 8, 1.5, kept=kept)
    assert (refuse_gain(found, Gain(51.0, 50.0, 52.0)) is None) == held


@pytest.mark.parametrize(
    ("claimed", "low", "held"),
    [(75.0, 49.9, True), (75.0, 50.1, False), (5.0, 2.955, True), (5.0, 2.956, False)],
)
def test_a_kernel_that_keeps_much_is_refused_though_the_contest_had_nothing_of_it(
    claimed: float, low: float, held: bool
) -> None:
    kept = AuditedGain(low + 2, low, low + 4)
    whole = AuditedGain(claimed, claimed - 1, claimed + 1)
    found = AuditSummary(whole, whole, 160, 8, 1.5, kept=kept)
    assert (refuse_gain(found, Gain(claimed, claimed, claimed)) is None) == held


@pytest.mark.parametrize(
    ("low", "pct", "again"), [(20.56, 20.56, False), (20.56, 20.57, True), (20.57, 20.57, True), (-90.0, 60.0, True)]
)
def test_more_calls_are_asked_for_where_it_seems_so(low: float, pct: float, again: bool) -> None:
    found = AuditSummary(audited(90.0), audited(90.0), 160, 8, 1.5, kept=AuditedGain(pct, low, 95.0))
    assert wants_more(found, Gain(90.0, 90.0, 90.0)) == again
    older = AuditSummary(audited(90.0), audited(90.0), 160, 8, 1.5)
    assert not wants_more(older, Gain(90.0, 90.0, 90.0))


@pytest.mark.parametrize(("fresh", "again"), [(FOUR_FIFTHS - 0.1, True), (FOUR_FIFTHS + 0.1, False)])
def test_a_gain_that_seems_not_to_be_there_is_looked_at_again(fresh: float, again: bool) -> None:
    claimed = Gain(36.0, 36.0, 36.0)
    found = AuditSummary(AuditedGain(fresh, -100.0, 90.0), audited(36.0), 160, 8, 1.5, cold=1.0)
    assert refuse_gain(found, claimed) is None, "the interval is too wide to tell"
    assert wants_more(found, claimed) == again


@pytest.mark.parametrize(("clocked", "again"), [(19.9, True), (20.1, False)])
def test_so_is_one_that_seems_not_to_be_there_by_the_drivers_clock(clocked: float, again: bool) -> None:
    claimed = Gain(36.0, 36.0, 36.0)
    seen = AuditedGain(clocked, 1.0, 90.0)
    found = AuditSummary(audited(36.0), audited(36.0), 160, 8, 1.5, cold=1.0, clocked=seen)
    assert refuse_gain(found, claimed) is None, "the interval is too wide to tell"
    assert wants_more(found, claimed) == again


def test_one_process_in_which_an_honest_kernel_has_no_gain_does_not_refuse_it() -> None:
    """Seen on a busy machine: in one of three processes on fresh inputs, for its whole second, half the work took as
    long as all of it. A kernel that is as long in each of them is refused."""
    contest = [ProcessSample(n, {"case": CaseSample(1, (1000 + n,), (560 + n,))}) for n in range(9)]
    alone = tuple(ProcessSample(n, {"case": CaseSample(1, *((1000 - n % 2 * 440,),) * 2)}) for n in range(6))
    claimed = Gain(43.8, 43.5, 44.1)

    def taken(b_ns: int) -> AuditSamples:
        calls = tuple(tuple(ns + n % 7 for n in range(40)) for ns in (1000, b_ns))
        return AuditSamples({"case": FreshCase(1, 1, True, *calls, *calls)}, alone, 0.5, 1.0)

    slow = summary(taken(950), contest)
    assert refuse_gain(slow, claimed) is not None, "by itself it would refuse it"
    assert wants_more(slow, claimed), "so it is looked at again"
    joint = joined(joined(taken(950), taken(560)), taken(560))
    assert refuse_gain(summary(joint, contest), claimed) is None
    never = joined(joined(taken(950), taken(950)), taken(950))
    assert refuse_gain(summary(never, contest), claimed) is not None


@pytest.mark.parametrize(("part", "least", "most"), [(0.5, 95, 100), (0.0, 0, 1)])
def test_a_kernel_that_keeps_results_is_refused_on_a_busy_machine_too(part: float, least: int, most: int) -> None:
    """So few pairs, and so much noise, that the first look tells in less than half of a hundred tries."""
    rng, refused, at_once = Random(5), 0, 0
    quick, kept = log(0.5), log(1 - part)
    claimed = Gain(*(100 * (1 - exp(quick + kept)),) * 3)

    def some(side: float, count: int) -> tuple[int, ...]:
        return tuple(round(1e6 * exp(side + abs(rng.gauss(0, 0.2)))) for _ in range(count))

    def taken() -> AuditSamples:
        fresh = FreshCase(1, 1, True, some(0, 5), some(quick, 5), some(0, 5), some(quick + kept, 5))
        cases = (CaseSample(1, *((some(n % 2 * (quick + kept), 1),) * 2)) for n in range(6))
        alone = tuple(ProcessSample(n, {"case": case}) for n, case in enumerate(cases))
        return AuditSamples({"case": fresh}, alone, 0.5, 1.0)

    contest = [ProcessSample(n, {"case": CaseSample(1, some(0, 1), some(quick + kept, 1))}) for n in range(9)]
    for _ in range(100):
        audit = taken()
        found = summary(audit, contest)
        at_once += refuse_gain(found, claimed) is not None
        for _ in range(2):
            if wants_more(found, claimed):
                audit = joined(audit, taken())
                found = summary(audit, contest)
        refused += refuse_gain(found, claimed) is not None
    assert least <= refused <= most
    assert at_once <= 70, at_once


def test_what_is_kept_is_told_from_what_is_there_anyway() -> None:
    case = FreshCase(1, 1, True, (100,) * 20, (50,) * 20, (100,) * 20, (25,) * 20)
    kept = kept_gain({"same": case}, {"same": 1.0})
    assert kept is not None
    assert kept.pct == pytest.approx(50.0), "half the time again"
    assert kept_gain({"same": FreshCase(1, 1, True, (100,), (50,))}, {"same": 1.0}) is None, "older samples"


def test_the_gain_on_fresh_inputs_counts_cases_by_their_weights() -> None:
    cases = {
        "same": FreshCase(1, 1, True, (100,) * 20, (100,) * 20),
        "half": FreshCase(1, 1, True, (100,) * 20, (50,) * 20),
    }
    times = (100, 100), (100, 50)
    assert fresh_gain(cases, contested(*times)).pct == pytest.approx(100 * (1 - 0.5**0.5))
    assert fresh_gain(cases, contested(*times, weights=(0.0, 3.0))).pct == pytest.approx(50.0)


def test_a_few_disturbed_calls_do_not_move_the_gain_on_fresh_inputs() -> None:
    times = [100] * 17 + [100_000] * 3
    found = fresh_gain({"same": FreshCase(1, 1, True, (200,) * 20, tuple(times))}, contested((200, 100)))
    assert found.pct == pytest.approx(50.0)


@pytest.mark.parametrize(("times", "sure"), [(1, False), (MOST_TOGETHER - 1, False), (MOST_TOGETHER, True)])
def test_a_candidate_that_makes_its_own_times_differ_is_no_doubt_after_the_last_audit(times: int, sure: bool) -> None:
    """Nothing is gained on fresh inputs, and another share of the time in each process of the contest."""
    contest = [ProcessSample(n, {"case": CaseSample(1, (1000 + n % 3,), (900 - 60 * n,))}) for n in range(9)]
    calls = tuple(1000 + n % 3 for n in range(40))
    alone = tuple(ProcessSample(n, {"case": CaseSample(1, *((1000 - n % 2 * 300,),) * 2)}) for n in range(6))
    audit = AuditSamples({"case": FreshCase(1, 1, True, calls, calls)}, alone, 0.5, 1.0, times)
    refused = refuse_gain(summary(audit, contest), Gain(36.0, 10.0, 55.0))
    assert (refused is not None) == sure


@pytest.mark.parametrize("slowed", [0, 19])
def test_a_candidate_that_slows_itself_down_in_some_places_has_no_wider_interval(slowed: int) -> None:
    """One thousandth is gained in all other calls: also where half of the places are slow, and fewer of all calls."""
    calls = tuple(1000 + n % 3 for n in range(40))
    slow = tuple(10_000 if n < slowed else ns - 1 for n, ns in enumerate(calls))
    contest = contested((1000, 900))
    audit = AuditSamples({"same": FreshCase(1, 1, True, calls, slow)}, tuple(contest), 0.5, 1.0)
    audit = joined(joined(audit, audit), audit)
    assert refuse_gain(summary(audit, contest), Gain(10.0, 9.0, 11.0)) is not None


def test_pairs_in_one_place_are_as_many_as_the_driver_takes() -> None:
    assert f"#define PAIRS_A_PLACE {PAIRS_A_PLACE} " in (ROOT / "kpd/measure/native/fresh.c").read_text()


def test_each_kernel_alone_is_compared_across_processes() -> None:
    contest = [ProcessSample(n, {"case": CaseSample(1, (1000 + n,), (500 + n,))}) for n in range(9)]
    alone = [ProcessSample(n, {"case": CaseSample(10, *(((5000 if n % 2 else 7000) + n,),) * 2)}) for n in range(8)]
    assert alone_gain(alone, contest).pct == pytest.approx(100 * (1 - 5 / 7), abs=0.1)


@pytest.mark.parametrize(("compared", "unread", "known"), [(True, 0, 4), (False, 4, 4), (None, 0, 0)])
def test_code_that_could_not_be_read_is_told(compared: bool | None, unread: int, known: int) -> None:
    samples = tuple(
        ProcessSample(n, {"case": CaseSample(1, (100,), (50,))}, compared=compared) for n in range(2)
    )  # fmt: skip
    audit = AuditSamples({"case": FreshCase(1, 1, True, (100,), (50,))}, samples, 0.5, 1.0)
    found = summary(audit, samples)
    assert (found.unread, found.processes) == (unread, known)
    assert ("not compared in 4 of 4 processes" in told(found)) == bool(unread)


def test_the_audits_are_told_on_one_line() -> None:
    line = told(AuditSummary(AuditedGain(35.0, 33.0, 37.0), AuditedGain(36.0, 30.0, 42.0), 160, 8, 1.44))
    assert line == (
        "+35.0 % [+33.0, +37.0] over 160 calls of each kernel on fresh inputs, 8 compared; "
        "+36.0 % [+30.0, +42.0] one kernel at a time; 1.4 s"
    )
    some = AuditedGain(1.0, 0.5, 1.5)
    capped = told(AuditSummary(some, some, 160, 8, 1.44, times=5, whole=2.74))
    assert capped.endswith("one kernel at a time; 5 audits, 1.4 s of 2.7 s from the end of the contest")


@pytest.mark.parametrize(("times", "refused"), [(MOST_TOGETHER - 1, False), (MOST_TOGETHER, True)])
def test_a_contest_is_no_surer_in_doubt_than_the_incumbent_is_steady(times: int, refused: bool) -> None:
    """The gain is within its own error of nothing, and far beyond the incumbent's, as fresh inputs are."""
    contest = [ProcessSample(n, {"case": CaseSample(1, (1000 + n % 3,), (980 - n % 3 * 70,))}) for n in range(9)]
    calls = tuple(1000 + 40 * (n % 3) for n in range(40))
    alone = tuple(ProcessSample(n, {"case": CaseSample(1, (1000,), (1000 - n % 3 * 30,))}) for n in range(6))
    audit = AuditSamples({"case": FreshCase(1, 1, True, calls, calls[::-1])}, alone, 0.5, 1.0, times)
    found = summary(audit, contest)
    assert (found.steady is not None) == refused
    claimed = Gain(9.0, 0.1, 17.2)
    assert (refuse_gain(found, claimed) is not None) == refused
    assert refuse_gain(structs.replace(found, steady=None), claimed) is None, "nothing else refuses it"
