"""The headline: the product of paired contests, or the one contest against the baseline; never a quotient of scores."""

from math import exp, log, sqrt

import pytest
from hypothesis import given, strategies as st

from kpd.model.causes import Skipped
from kpd.model.headline import headline
from kpd.model.iteration import Iteration
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Verdict
from tests.support.model.samples import done, run_of

BASELINE = Iteration(0, "baseline", 0, 0.0, status=done("baseline"), score=100.0)


def judged(number: int, parent: int, pct: float, half: float = 1.0, outcome: Outcome = "accepted") -> Iteration:
    verdict = Verdict("faster", Gain(pct, pct - half, pct + half), 7, True, "confirmed", 1.0)
    return Iteration(number, "sweep", parent, 0.0, status=done(outcome), verdict=verdict, score=50.0)


def test_the_baseline_has_none() -> None:
    assert headline(run_of(BASELINE)) is None


@given(st.lists(st.tuples(st.floats(0.5, 80), st.floats(0.01, 0.4)), min_size=1, max_size=6))
def test_it_is_the_product_along_the_line(gains: list[tuple[float, float]]) -> None:
    its = [judged(number, number - 1, *one) for number, one in enumerate(gains, 1)]
    found = headline(run_of(BASELINE, *its))
    assert found is not None and found.how == "chained"
    steps = [it.verdict.gain.speedup for it in its if it.verdict]
    assert found.speedup.ratio == pytest.approx(exp(sum(log(one.ratio) for one in steps)))
    below = sqrt(sum(log(one.ratio / one.low) ** 2 for one in steps))
    assert found.speedup.low == pytest.approx(found.speedup.ratio / exp(below))
    assert found.speedup.low < found.speedup.ratio < found.speedup.high


def test_rejected_ones_and_side_lines_do_not_count() -> None:
    its = (judged(1, 0, 50.0), judged(2, 1, -30.0, outcome="rejected"), judged(3, 1, 20.0))
    found = headline(run_of(BASELINE, *its))
    assert found is not None and found.speedup.ratio == pytest.approx(2 * 1.25)


def test_a_contest_against_the_baseline_takes_its_place() -> None:
    measured = Iteration(
        2, "again", 0, 0.0, status=done("measured"), verdict=judged(2, 0, 40.0).verdict, again=1, confirming="end"
    )
    found = headline(run_of(BASELINE, judged(1, 0, 50.0), measured, incumbent=1))
    assert found is not None and (found.how, found.by) == ("measured", 2)
    assert found.speedup.ratio == pytest.approx(1 / 0.6)


def test_one_that_came_to_nothing_leaves_the_product_unconfirmed() -> None:
    skipped = Iteration(2, "again", 0, 0.0, status=done("skipped", Skipped("me")), again=1, confirming="end")
    found = headline(run_of(BASELINE, judged(1, 0, 50.0), skipped, incumbent=1))
    assert found is not None and (found.how, found.cause) == ("unconfirmed", Skipped("me"))
    assert found.speedup.ratio == pytest.approx(2.0)


def test_what_was_never_judged_has_none() -> None:
    by_hand = Iteration(1, "sweep", 0, 0.0, status=done("rejected"))
    assert headline(run_of(BASELINE, by_hand, incumbent=1)) is None
