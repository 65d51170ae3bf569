"""The headline: the product of paired contests, or the one contest against the baseline; never a quotient of scores."""

from dataclasses import replace
from math import expm1, log, prod, sqrt
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, strategies as st

from kpd.measure.interval import t_half_width
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
    assert found.speedup.ratio == pytest.approx(prod(one.ratio for one in steps))
    coming = max(one.ratio / one.low for one in steps)
    assert found.speedup.low == pytest.approx(prod(one.low for one in steps) / coming)
    assert found.speedup.low < found.speedup.ratio < found.speedup.high


def test_the_noise_of_the_baseline_widens_it_where_that_is_more() -> None:
    noisy = replace(BASELINE, verdict=judged(0, 0, 0.5, 4.0).verdict)
    found, alone = headline(run_of(noisy, judged(1, 0, 50.0))), headline(run_of(BASELINE, judged(1, 0, 50.0)))
    assert found is not None and alone is not None and found.speedup.ratio == alone.speedup.ratio
    assert found.speedup.low == pytest.approx((1 / 0.51) / (1.035 / 0.995))
    assert found.speedup.low < alone.speedup.low


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


Ends = tuple[float, float, float]


def contest(chance: Random, true: float, between: float) -> tuple[Ends, bool]:
    """Measure a true log ratio in one contest, whose minute is off by `between`.

    Return the estimate with both ends, and whether it wins: at two looks in a row, by at least a percent.
    """
    off = true + chance.gauss(0, between)
    ratios = [off + chance.gauss(0, 0.005) for _ in range(9)]
    looks = [(fmean(taken), t_half_width(taken, 0.99)) for taken in (ratios[:7], ratios)]
    middle, half = looks[-1]
    return (middle, middle - half, middle + half), all(mean > max(width, 0.01) for mean, width in looks)


@pytest.mark.parametrize(
    ("between", "holds", "by_squares"), [(0.0, 0.99, (0.9, 1.0)), (0.003, 0.99, (0.8, 0.95)), (0.006, 0.95, (0.4, 0.7))]
)
def test_the_contest_that_takes_its_place_lies_within_its_bounds(
    between: float, holds: float, by_squares: tuple[float, float]
) -> None:
    """Contests are off by up to 0.6 % each beyond what their processes show, and only winners are accepted."""
    chance, runs = Random(16), 200
    inside = narrow = 0
    for _ in range(runs):
        steps, true = list[Ends](), 0.0
        for gain in (2.0, *chance.choices((0.0, 0.005, 0.01, 0.02, 0.1), k=6)):
            found, wins = contest(chance, gain, between)
            if wins:
                steps.append(found)
                true += gain
        chain = headline(run_of(BASELINE, *(judged_as(number, *one) for number, one in enumerate(steps, 1))))
        (direct, _, _), _ = contest(chance, true, between)
        assert chain is not None and chain.how == "chained"
        inside += log(chain.speedup.low) <= direct <= log(chain.speedup.high)
        squares = sqrt(sum((middle - low) ** 2 for middle, low, _ in steps))
        narrow += abs(log(chain.speedup.ratio) - direct) <= squares
    assert inside / runs >= holds
    assert by_squares[0] <= narrow / runs <= by_squares[1], (
        "errors that were independent would be held by their squares"
    )


def judged_as(number: int, *ratios: float) -> Iteration:
    """An accepted iteration with these log ratios: the estimate, and both ends."""
    verdict = Verdict("faster", Gain(*(-100 * expm1(-one) for one in ratios)), 9, True, "confirmed", 1.0)
    return Iteration(number, "sweep", number - 1, 0.0, status=done("accepted"), verdict=verdict, score=50.0)
