"""How much longer all calls of a candidate take than its gain says, which is that of the median quad."""

from dataclasses import replace
from math import exp, log
from statistics import fmean

import pytest

from kpd.measure.audits import (
    FRESH_SELDOM,
    LEAST_FRESH_SELDOM,
    AuditSamples,
    refuse_average,
    refuse_contest,
    refuse_gain,
    summary,
)
from kpd.measure.averages import (
    LEAST_SELDOM,
    LEFT_OUT,
    LONGEST_SHARE,
    MOST_SELDOM,
    longer_on_average,
    longer_on_fresh,
    on_average,
)
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.interval import half_width
from kpd.measure.judge import CONFIDENCE, log_ratio, percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.verdicts import Gain, Verdict
from kpd.text.faults import fault
from kpd.text.verdicts import verdict as told_verdict

QUADS, PROCESSES = 64, 9


def case(a: float, b: float, stalled: float = 0.0, quads: int = QUADS, weight: float = 1.0) -> CaseSample:
    """One whose last batch of the candidate takes so many times as much as all but the first quad."""
    times = [b] * (2 * quads)
    times[-1] += stalled * sum(times[2:])
    return CaseSample(1, (a,) * (2 * quads), tuple(times), weight=weight)


def contest(*each: CaseSample) -> list[ProcessSample]:
    return [ProcessSample(number, {"case": one}) for number, one in enumerate(each)]


def test_nothing_is_longer_where_all_calls_are_alike() -> None:
    assert longer_on_average(contest(*[case(9.0, 3.0)] * PROCESSES)) == pytest.approx(0.0)


def test_a_call_in_many_that_takes_long_is_in_the_average() -> None:
    assert longer_on_average(contest(*[case(9.0, 3.0, 4.0)] * PROCESSES)) == pytest.approx(log(5.0))


def test_as_much_longer_calls_of_the_incumbent_make_up_for_it() -> None:
    """Other work makes calls of both longer."""
    both = CaseSample(1, (9.0,) * 127 + (900.0,), (3.0,) * 127 + (300.0,))
    assert longer_on_average(contest(*[both] * PROCESSES)) == pytest.approx(0.0)


@pytest.mark.parametrize(("layouts", "longer"), [(1, log(5.0)), (QUADS - 1, log(5.0)), (QUADS, 0.0)])
def test_the_first_quad_of_each_layout_says_nothing(layouts: int, longer: float) -> None:
    """Its memory may be new: each call is slow there, of a kernel with a large static buffer."""
    quads = [1000.0] * (2 * layouts) + [3.0] * (2 * (QUADS - layouts))
    if layouts < QUADS:
        quads[-1] += 4 * 3.0 * 2 * (QUADS - layouts)
    one = CaseSample(1, (9.0,) * (2 * QUADS), tuple(quads), layouts=layouts)
    claimed = log_ratio(one)
    found = longer_on_average(contest(*[one] * PROCESSES))
    expected = claimed + log(3.0 / 9.0) + longer if layouts < QUADS else 0.0
    assert found == pytest.approx(expected)


def test_cases_count_by_their_weights() -> None:
    cases = {"one": case(9.0, 3.0, 1.0, weight=3.0), "other": case(9.0, 3.0)}
    found = longer_on_average([ProcessSample(number, cases) for number in range(PROCESSES)])
    assert found == pytest.approx(log((3 * 2 + 1) / 4))


@pytest.mark.parametrize(("processes", "seen"), [(LEFT_OUT, False), (LEFT_OUT + 1, True)])
def test_what_few_processes_have_is_left_out(processes: int, seen: bool) -> None:
    """Other work may have disturbed these, or the candidate itself; it cannot be told."""
    found = longer_on_average(contest(*[case(9.0, 3.0, 50.0)] * processes, *[case(9.0, 3.0)] * (PROCESSES - processes)))
    assert (found > 1.0) == seen


def test_tainted_processes_tell_nothing() -> None:
    tainted = [ProcessSample(number, {"case": case(9.0, 3.0, 50.0)}, taint="busy") for number in range(20, 29)]
    assert longer_on_average([*contest(*[case(9.0, 3.0)] * PROCESSES), *tainted]) == pytest.approx(0.0)


def test_what_is_slow_in_whole_processes_counts_by_its_time() -> None:
    """The gain is the mean of logarithms, in which a process that takes 40 times as long counts little."""
    some = contest(*[case(9.0, 1.0)] * 5, *[case(9.0, 40.0)] * 4)
    claimed = (5 * log(9) + 4 * log(9 / 40)) / 9
    assert longer_on_average(some) == pytest.approx(claimed + log((5 / 9 + 2 * 40 / 9) / 7))


@pytest.mark.parametrize(
    ("claimed", "most"),
    [
        (0.1, LEAST_SELDOM),
        (LEAST_SELDOM / MOST_SELDOM, LEAST_SELDOM),
        (0.6, 0.6 * MOST_SELDOM),
        (2.0, 2.0 * MOST_SELDOM),
    ],
)
@pytest.mark.parametrize(("share", "refused"), [(0.99, False), (1.01, True)])
def test_a_fifth_of_the_gain_may_be_missing_or_three_percent(
    claimed: float, most: float, share: float, refused: bool
) -> None:
    stalled = exp(share * most) - 1
    gain = Gain(percent(claimed), percent(claimed), percent(claimed))
    found = refuse_average(contest(*[case(exp(claimed), 1.0, stalled)] * PROCESSES), gain)
    assert (found is not None) == refused
    if found is not None:
        assert "that of most calls" in fault(found)
        assert found.high_pct == pytest.approx(percent(claimed - share * most))


def won(log_gain: float, error: float, least_pct: float = 1.0) -> Verdict:
    ends = (percent(log_gain + by) for by in (0.0, -error, error))
    return Verdict("faster", Gain(*ends), PROCESSES, True, "confirmed", least_pct)


@pytest.mark.parametrize(("share", "told"), [(0.99, False), (1.01, True)])
def test_where_few_calls_take_much_of_it_back_the_gain_of_all_counts(share: float, told: bool) -> None:
    longer = share * MOST_SELDOM
    some = contest(*[case(exp(1.0), 1.0, exp(longer) - 1)] * PROCESSES)
    verdict = won(1.0, 0.1)
    found = on_average(verdict, some)
    if not told:
        assert found == verdict
        return
    assert found.on_average and "on average" in told_verdict(found)
    assert [found.gain.pct, found.gain.low, found.gain.high] == pytest.approx([percent(1.0 - longer)] * 3)
    assert refuse_contest(some, found) is None and refuse_contest(some, verdict) is not None


def unequal(left: float, spread: float) -> list[ProcessSample]:
    """Processes whose calls all together have that gain, a logarithm, and differ by as much either way."""
    logs = [left - spread, left + spread] * (PROCESSES // 2) + [left]
    return contest(*(case(exp(1.0), 1.0, exp(1.0 - one) - 1) for one in logs))


def test_its_interval_is_that_of_what_processes_differ_by() -> None:
    logs = [0.5 - 0.1, 0.5 + 0.1] * (PROCESSES // 2) + [0.5]
    found = on_average(won(1.0, 0.01), unequal(0.5, 0.1)).gain
    middle, half = -log(fmean(exp(-one) for one in logs)), half_width(logs, CONFIDENCE)
    ends = [percent(middle + by) for by in (0, -half, half)]
    assert [found.pct, found.low, found.high] == pytest.approx(ends)


@pytest.mark.parametrize(("spread", "wins"), [(0.1, True), (0.6, False)])
def test_what_is_left_must_be_a_gain_beyond_its_error(spread: float, wins: bool) -> None:
    some = unequal(0.3, spread)
    found = on_average(won(1.0, 0.01), some)
    assert found.on_average == wins
    assert (refuse_contest(some, found) is None) == wins


def test_processes_that_are_slow_as_a_whole_count() -> None:
    """The two worst ones, which a refusal leaves out, are in what is claimed: together nearly nothing is left."""
    logs = [-log(1 - pct / 100) for pct in (32.0,) * 4 + (19.5,) * 4 + (-93.0,) * 2]
    some = contest(*(case(exp(0.386), 1.0, exp(0.386 - one) - 1) for one in logs))
    assert not on_average(won(0.386, 0.01), some).on_average


@pytest.mark.parametrize(("left", "wins"), [(0.201, True), (0.199, False)])
def test_what_is_left_must_be_the_gain_that_was_asked_for(left: float, wins: bool) -> None:
    some = contest(*[case(exp(1.0), 1.0, exp(1.0 - left) - 1)] * PROCESSES)
    assert on_average(won(1.0, 0.1, percent(0.2)), some).on_average == wins


def test_a_gain_of_all_of_the_time_can_be_looked_at() -> None:
    """A record that is forged may say so."""
    verdict = replace(won(1.0, 0.1), gain=Gain(100.0, 100.0, 100.0))
    assert not on_average(verdict, contest(*[case(exp(50.0), 1.0)] * PROCESSES)).on_average


def test_a_loser_has_no_other_gain() -> None:
    some = contest(*[case(exp(1.0), 1.0, 1.0)] * PROCESSES)
    lost = replace(won(1.0, 0.1), accepted=False)
    assert on_average(lost, some) == lost


def test_a_benchmark_of_a_tasks_own_has_one_time_a_process() -> None:
    some = [ProcessSample(number, {}, score=CaseSample(1, (9.0,), (3.0 + number % 2,))) for number in range(PROCESSES)]
    gain = percent(log(9 / 3.5))
    assert refuse_average(some, Gain(gain, gain, gain)) is None


CALLS = 100


def fresh(slow: int, times: float, slow_a: int = 0, apart: bool = True) -> dict[str, FreshCase]:
    """Calls on fresh inputs: so many of the candidate's take so many times as long; of the incumbent's, 100 times."""
    a = (9000,) * (CALLS - slow_a) + (900_000,) * slow_a
    b = (3000,) * (CALLS - slow) + (int(3000 * times),) * slow
    return {"case": FreshCase(1, 4, True, a, b, apart=apart)}


def test_inputs_that_are_slow_are_in_the_average_of_calls_on_fresh_ones() -> None:
    out = int(LONGEST_SHARE * CALLS)
    assert longer_on_fresh(fresh(0, 1)) == pytest.approx(0.0)
    assert longer_on_fresh(fresh(out, 1000)) == pytest.approx(0.0), "other work may have been in these"
    assert longer_on_fresh(fresh(out + 5, 40)) == pytest.approx(log((93 + 5 * 40) / 98))
    assert longer_on_fresh(fresh(out + 5, 298, out + 5)) == pytest.approx(0.0), "as much longer as the incumbent's"
    assert longer_on_fresh(fresh(out + 5, 299, out + 5)) == pytest.approx(log((98 + 5) / 98)), (
        "which takes 3 times as long"
    )


def test_calls_of_kernels_that_share_a_process_tell_nothing() -> None:
    assert longer_on_fresh(fresh(20, 40, apart=False)) is None


@pytest.mark.parametrize(
    ("claimed", "most"),
    [(0.3, LEAST_FRESH_SELDOM), (LEAST_FRESH_SELDOM / FRESH_SELDOM, LEAST_FRESH_SELDOM), (2.0, 2.0 * FRESH_SELDOM)],
)
@pytest.mark.parametrize(("share", "refused"), [(0.99, False), (1.01, True)])
def test_a_quarter_of_the_gain_may_be_missing_on_fresh_inputs(
    claimed: float, most: float, share: float, refused: bool
) -> None:
    both = CaseSample(1, (9000.0,) * 8, (9000.0 / exp(claimed),) * 8)
    processes = contest(*[both] * PROCESSES)
    ns = round(1e6 / exp(claimed))
    times = 1 + (exp(share * most) - 1) * 98 / 10  # ten of the 98 that count
    calls = (ns,) * 88 + (round(ns * times),) * 12
    cases = {"case": FreshCase(1, 4, True, (1_000_000,) * CALLS, calls, apart=True)}
    gain = Gain(percent(claimed), percent(claimed), percent(claimed))
    found = refuse_gain(summary(AuditSamples(cases, tuple(processes[:4]), 0.5, 0.5, 11), processes), gain)
    assert (found is not None and getattr(found, "audit", "") == "average") == refused
