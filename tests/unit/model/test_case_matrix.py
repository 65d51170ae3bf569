"""The matrix of cases and candidates: paired speed-ups, multiplied along the incumbents."""

from dataclasses import replace

import pytest

from kpd.model.budget import Budget
from kpd.model.case_matrix import CaseSpeedups, case_matrix, dispatch
from kpd.model.facts.steps import Timed
from kpd.model.iteration import Iteration
from kpd.model.profiles import CaseTime
from kpd.model.run import Run
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Speedup, Verdict
from tests.support.model.samples import done

JUDGED = Verdict("faster", Gain(5.0, 4.0, 6.0), 7, True, "confirmed", 1.0)


def iteration(number: int, outcome: Outcome, parent: int, verdict: Verdict | None = JUDGED) -> Iteration:
    return Iteration(number, "sweep", parent, 0.0, status=done(outcome), verdict=verdict)


def case(name: str, gain: float, width: float | None = 1.0) -> CaseTime:
    low, high = (None, None) if width is None else (gain - width, gain + width)
    # The times say the opposite of the paired gain: contests minutes apart cannot be compared.
    return CaseTime(name, 1.0 + gain, 1.0, gain, low_pct=low, high_pct=high, weight=2.0)


def timed(number: int, *cases: CaseTime) -> Timed:
    return Timed("r1", number, 0.0, 0.0, 1.0, 9, cases)


RUN = Run(
    "r1", "transpose", "sweep", "local", Budget(), 0.0, incumbent=1,
    iterations=(
        iteration(0, "baseline", 0), iteration(1, "accepted", 0), iteration(2, "rejected", 1),
        iteration(3, "failed", 1), iteration(4, "rejected", 1),
    ),
)  # fmt: skip
TIMED = {
    0: timed(0, case("small", 0.0), case("large", 0.0)),
    1: timed(1, case("small", 50.0), case("large", 20.0)),
    2: timed(2, case("small", -100.0, 1.0), case("large", 20.0)),
    4: timed(4, case("small", 10.0, None), case("large", -1.0)),
}


def test_speedups_over_the_baseline_follow_the_chain_of_incumbents() -> None:
    small, large = case_matrix(RUN, TIMED)
    assert (small.case, small.weight, small.best) == ("small", 2.0, 1)
    assert {number: one.ratio for number, one in small.speedups.items()} == pytest.approx({1: 2.0, 2: 1.0})
    assert (large.best, large.speedups[2].ratio) == (2, pytest.approx(1.25**2))
    assert large.speedups[2].low == pytest.approx((100 / 81) ** 2), "their errors add up"


def test_a_case_without_an_interval_is_left_out_and_so_is_what_was_not_timed() -> None:
    small, large = case_matrix(RUN, TIMED)
    assert list(small.speedups) == [1, 2]
    assert list(large.speedups) == [1, 2, 4]
    assert case_matrix(RUN, {}) == ()


def test_a_candidate_found_wrong_or_forged_after_it_was_timed_is_left_out() -> None:
    refused = replace(RUN, iterations=(*RUN.iterations, iteration(5, "rejected", 1, verdict=None)))
    forged = timed(5, case("small", 90.0), case("large", 90.0))
    assert case_matrix(refused, {**TIMED, 5: forged}) == case_matrix(RUN, TIMED)


def test_what_quick_processes_say_of_a_candidate_is_in_no_row() -> None:
    """A kernel may have changed their clock: with a larger loss elsewhere it was rejected, and the best in a case."""
    claims = timed(2, case("small", 90.0), case("large", -900.0))
    assert [row.best for row in case_matrix(RUN, {**TIMED, 2: claims})] == [2, 1]
    rows = case_matrix(RUN, {**TIMED, 2: replace(claims, quick=True)})
    assert [(row.best, list(row.speedups)) for row in rows] == [(1, [1]), (1, [1, 4])]
    assert dispatch(rows, 1) == 1


def test_without_the_times_of_its_incumbent_a_candidate_has_no_speedup() -> None:
    assert [set(row.speedups) for row in case_matrix(RUN, {2: TIMED[2]})] == []


def test_what_a_dispatch_table_would_gain_at_most() -> None:
    def row(case: str, weight: float, *ratios: float) -> CaseSpeedups:
        return CaseSpeedups(case, weight, {n: Speedup(one, one, one) for n, one in enumerate(ratios, 1)})

    rows = (row("a", 1.0, 2.0, 4.0), row("b", 3.0, 2.0, 1.0))
    assert dispatch(rows, 1) == pytest.approx(2 ** (1 / 4)), "only case a has a better one"
    assert dispatch(rows, 0) == pytest.approx((4 * 2**3) ** (1 / 4)), "against the baseline"
    assert dispatch((row("a", 1.0, 0.5),), 1) == pytest.approx(2.0), "the baseline is one of the candidates"
    assert dispatch((), 1) is None
