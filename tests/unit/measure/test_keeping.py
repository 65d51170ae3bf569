"""What of a contest's gain is there only while inputs hardly change, by calls of the contest on fresh ones."""

from math import exp, log

import pytest

from kpd.measure.audits import LEAST_KEPT, MOST_KEPT, refuse_kept
from kpd.measure.judge import percent
from kpd.measure.keeping import FEWEST, kept_beside
from kpd.measure.samples import Batches, CaseSample, ProcessSample
from kpd.model.verdicts import Gain
from kpd.text.faults import fault

CALL_NS, REPS, ROUNDS = 1e6, 4, 3
CLAIMED = Gain(percent(0.25), percent(0.2), percent(0.3))


def case(a: float, b: float, a_fresh: float = 0.0, b_fresh: float = 0.0, weight: float = 1.0) -> CaseSample:
    """One whose calls take so many times CALL_NS; a batch on fresh inputs has fewer calls, and one was disturbed."""

    def batches(ns: float, reps: int) -> tuple[float, ...]:
        return (9 * ns * reps, ns * reps, ns * reps)

    fresh = Batches(REPS, *(batches(one * CALL_NS, REPS) for one in (a_fresh, b_fresh))) if a_fresh else None
    swapped = (batches(one * CALL_NS, REPS * ROUNDS) for one in (a, b))
    return CaseSample(REPS * ROUNDS, *swapped, weight=weight, fresh=fresh)


def kept(*each: CaseSample) -> float:
    found = kept_beside([ProcessSample(number, {"case": one}) for number, one in enumerate(each)])
    assert found is not None
    return -log(1 - found.pct / 100)


def test_it_is_by_how_much_longer_calls_of_the_candidate_are_on_fresh_inputs() -> None:
    assert kept(*[case(1.0, 0.5, 1.0, 0.5)] * 9) == pytest.approx(0.0)
    assert kept(*[case(1.0, 0.5, 1.0, 0.75)] * 9) == pytest.approx(log(1.5))


def test_as_much_longer_as_the_incumbents_they_may_be() -> None:
    """The caches are in another state."""
    assert kept(*[case(1.0, 0.5, 1.25, 0.75)] * 9) == pytest.approx(0.0)
    assert kept(*[case(1.0, 0.5, 0.5, 0.75)] * 9) == pytest.approx(log(1.5)), "quicker ones are no reason for that"


def test_cases_count_by_their_weights() -> None:
    cases = {"one": case(1.0, 0.5, 1.0, 1.0, weight=3.0), "other": case(1.0, 0.5, 1.0, 0.5)}
    found = kept_beside([ProcessSample(number, cases) for number in range(9)])
    assert found is not None
    assert found.pct == pytest.approx(percent(0.75 * log(2)))


@pytest.mark.parametrize(("many", "told"), [(FEWEST - 1, False), (FEWEST, True)])
def test_processes_without_fresh_inputs_tell_nothing(many: int, told: bool) -> None:
    with_fresh = [ProcessSample(number, {"case": case(1.0, 0.5, 1.0, 0.75)}) for number in range(many)]
    without = [ProcessSample(number, {"case": case(1.0, 1.5)}) for number in range(many, 9)]
    tainted = [ProcessSample(9, {"case": case(1.0, 0.5, 1.0, 5.0)}, taint="the machine was busy")]
    found = kept_beside([*with_fresh, *without, *tainted])
    assert (found is not None) == told
    if found is not None:
        assert found.pct == pytest.approx(percent(log(1.5)))


def test_a_candidate_does_not_hide_it_by_keeping_in_some_processes_only() -> None:
    """The error is then what the incumbent's times tell, not what the candidate's own do."""
    contest = [
        ProcessSample(number, {"case": case(1.0, 0.9 - 0.4 * (number % 3 == 0), 1.0 + 0.01 * (number % 2), 0.9)})
        for number in range(9)
    ]
    found = kept_beside(contest)
    assert found is not None
    assert found.low > 15 > percent(LEAST_KEPT)
    assert refuse_kept(contest, Gain(27.0, 10.0, 40.0)) is not None


def test_what_nobody_can_tell_is_not_refused() -> None:
    """Of two in three processes the incumbent's calls are disturbed, too."""
    contest = [
        ProcessSample(number, {"case": case(1.0, 0.75, 1.0 + 0.2 * (number % 3 - 1), 0.8 + 0.2 * (number % 2))})
        for number in range(9)
    ]
    found = kept_beside(contest)
    assert found is not None
    assert found.low < percent(LEAST_KEPT) < found.pct
    assert refuse_kept(contest, CLAIMED) is None


@pytest.mark.parametrize(
    ("claimed", "most"), [(0.1, LEAST_KEPT), (LEAST_KEPT / MOST_KEPT, LEAST_KEPT), (0.6, 0.6 * MOST_KEPT)]
)
@pytest.mark.parametrize(("share", "refused"), [(0.99, False), (1.01, True)])
def test_a_tenth_of_the_gain_may_be_kept_or_three_percent(
    claimed: float, most: float, share: float, refused: bool
) -> None:
    contest = [ProcessSample(number, {"case": case(1.0, 0.5, 1.0, 0.5 * exp(share * most))}) for number in range(9)]
    found = refuse_kept(contest, Gain(percent(claimed), percent(claimed), percent(claimed)))
    assert (found is not None) == refused
    if found is not None:
        assert "is there only while inputs hardly change" in fault(found)


def test_objects_have_no_such_calls() -> None:
    contest = [ProcessSample(number, {"case": case(1.0, 0.5)}) for number in range(9)]
    assert kept_beside(contest) is None
    assert refuse_kept(contest, CLAIMED) is None


def test_a_benchmark_of_a_tasks_own_has_no_calls_at_all() -> None:
    contest = [ProcessSample(number, {}, score=case(1.0, 0.5)) for number in range(9)]
    assert kept_beside(contest) is None
    assert refuse_kept(contest, CLAIMED) is None
