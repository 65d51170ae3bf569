"""Attempts with a built tool against those without it: figures, and a hint only where chance hardly explains them."""

from dataclasses import replace

import pytest

from kpd.daemon.tool_effect import LEAST, WORST, effect, ranks_lower
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.session import AgentSession
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Verdict
from tests.support.model.samples import done, run_of


def attempt(number: int, pct: float | None, outcome: Outcome = "rejected") -> Iteration:
    verdict = None if pct is None else Verdict("same", Gain(pct, pct, pct), 7, False, "same", 1.0)
    session = AgentSession(f"r1.{number}")
    return Iteration(number, "mine", 0, 0.0, status=done(outcome), verdict=verdict, session=session)


def run(*gains: float | None) -> Run:
    return run_of(*(attempt(number, pct, "failed" if pct is None else "rejected") for number, pct in enumerate(gains)))


def test_a_failed_attempt_ranks_last_and_has_no_gain() -> None:
    found = effect([run(None, 4.0, 2.0, 1.0)], "task", {("r1", 0), ("r1", 1)}, {("r1", 0), ("r1", 1)})
    assert (found.having.attempts, found.having.measured, found.having.median_pct) == (2, 1, 4.0)
    assert (found.lacking.attempts, found.lacking.median_pct, found.worse, found.retire) == (2, 1.5, None, False)


@pytest.mark.parametrize(("attempts", "concluded"), [(LEAST - 1, False), (LEAST, True)])
def test_nothing_is_concluded_from_few_attempts(attempts: int, concluded: bool) -> None:
    having = {("r1", number) for number in range(attempts)}
    found = effect([run(*[None] * attempts, *[5.0 + n for n in range(LEAST)])], "task", having, having)
    assert (found.worse is not None, found.retire) == (concluded, concluded)


def test_a_tool_that_helps_or_makes_no_difference_is_not_suggested_for_retirement() -> None:
    having = {("r1", number) for number in range(LEAST)}
    better = run(*[9.0] * LEAST, *[1.0] * LEAST)
    same = run(*[3.0] * (2 * LEAST))
    assert [effect([one], "task", having, having).retire for one in (better, same)] == [False, False]


def test_other_versions_of_the_tool_and_other_tasks_count_on_neither_side() -> None:
    whole = run(1.0, 2.0, 3.0)
    found = effect([whole, replace(whole, id="r2", task="other")], "task", {("r1", 0)}, {("r1", 0), ("r1", 1)})
    assert (found.having.attempts, found.lacking.attempts, found.lacking.median_pct) == (1, 1, 3.0)


def test_the_rank_test_is_exact_enough_and_takes_ties() -> None:
    assert ranks_lower([1, 2, 3], [4, 5, 6]) == pytest.approx(1 / 20, abs=0.02)
    assert ranks_lower([4, 5, 6], [1, 2, 3]) == 1.0
    assert ranks_lower([WORST] * 3, [WORST] * 3) == 1.0
