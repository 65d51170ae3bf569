"""What a run does next, from nothing but the run."""

from dataclasses import replace

from kpd.engine.plan import End, Iterate, Wait, next_of, result
from kpd.model.nouns import Budget, Iteration, Outcome
from tests.samples import run_of


def it(number: int, outcome: Outcome | None, score: float | None = None, agent: str = "sweep") -> Iteration:
    return Iteration(number, agent if number else "baseline", 0, 0.0, outcome=outcome, score=score)


def test_the_baseline_comes_first() -> None:
    assert next_of(run_of()) == Iterate(0, "baseline")
    assert next_of(run_of(it(0, "interrupted"))) == Iterate(1, "baseline")


def test_a_baseline_that_fails_ends_the_run() -> None:
    step = next_of(run_of(it(0, "failed")))
    assert isinstance(step, End)
    assert step.outcome == "failed"


def test_an_unfinished_iteration_goes_on() -> None:
    assert next_of(run_of(it(0, "baseline"), it(1, None))) == Iterate(1, "sweep", resumed=True)


def test_the_operators_edit_goes_before_the_agent_and_before_the_end() -> None:
    spent = Budget(iterations=1)
    run = run_of(it(0, "baseline"), it(1, "rejected"), budget=spent, pending_edit={"kernel.c": "abc"})
    assert next_of(run) == Iterate(2, "operator")


def test_budget_and_patience() -> None:
    rejected = [it(n, "rejected") for n in (1, 2, 3)]
    assert next_of(run_of(it(0, "baseline"), *rejected[:2], budget=Budget(6, 3))) == Iterate(3, "sweep")
    end = next_of(run_of(it(0, "baseline"), *rejected, budget=Budget(6, 3)))
    assert end == End("no_gain", "3 iterations without a gain (patience 3)")
    end = next_of(run_of(it(0, "baseline"), it(1, "accepted"), it(2, "failed"), budget=Budget(2, 9)))
    assert end == End("improved", "budget of 2 iterations used")


def test_trouble_and_skips_cost_nothing() -> None:
    free = [it(1, "infra"), it(2, "skipped"), it(3, "interrupted")]
    assert next_of(run_of(it(0, "baseline"), *free, budget=Budget(1, 1))) == Iterate(4, "sweep")


def test_stop_score_in_either_direction() -> None:
    run = run_of(it(0, "baseline", 100.0), it(1, "accepted", 40.0), budget=Budget(9, 9, stop_score=50.0))
    assert next_of(run) == End("improved", "stop score 50 reached: 40")
    assert next_of(run, direction="higher") == Iterate(2, "sweep")


def test_the_operator_agent_waits_for_an_edit() -> None:
    run = run_of(it(0, "baseline"))
    assert isinstance(next_of(run_of(it(0, "baseline"), budget=run.budget)), Iterate)
    assert isinstance(next_of(replace(run, agent="operator")), Wait)


def test_rolled_back_to_the_baseline_is_no_gain() -> None:
    assert result(run_of(it(0, "baseline"), it(1, "accepted"), incumbent=0)) == "no_gain"
    assert result(run_of(it(0, "baseline"), it(1, "accepted"))) == "improved"
