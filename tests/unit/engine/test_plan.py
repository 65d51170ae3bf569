"""What a run does next, from nothing but the run."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.engine.plan import End, Iterate, Reflect, Wait, next_action, result
from kpd.model.agents import AgentTraits
from kpd.model.budget import Budget
from kpd.model.causes import (
    AgentsDone,
    GpuHoursUsed,
    HoursUsed,
    IterationsUsed,
    NothingLeft,
    PatienceUsed,
    StopScoreReached,
)
from kpd.model.exhaustion import AgentSays
from kpd.model.faults import NotBuilt
from kpd.model.iteration import Iteration, Override
from kpd.model.run import Run
from kpd.model.session import AgentSession
from kpd.model.status import Done, Outcome
from kpd.model.verdicts import Gain, Verdict
from tests.support.model.samples import confirmed, done, run_of


def it(number: int, outcome: Outcome | None, score: float | None = None, agent: str = "sweep") -> Iteration:
    return Iteration(number, agent if number else "baseline", 0, 0.0, status=done(outcome), score=score)


def gained(number: int, pct: float, score: float = 40.0) -> Iteration:
    """An accepted iteration that needs `pct` percent less time than the baseline."""
    verdict = Verdict("faster", Gain(pct, pct - 1, pct + 1), 9, True, "confirmed", 1.0)
    return replace(it(number, "accepted", score), verdict=verdict)


def test_the_baseline_comes_first() -> None:
    assert next_action(run_of()) == Iterate(0, "baseline")
    assert next_action(run_of(it(0, "interrupted"))) == Iterate(1, "baseline")


def test_work_on_a_tool_is_taken_up_before_the_next_iteration_and_never_after_it() -> None:
    worked = replace(it(1, "accepted", 30.0, "mine"), session=AgentSession("r1.1", toolsmith=True))
    run = replace(run_of(it(0, "baseline", 40.0), worked), agent="mine", evolve=True, incumbent=1)
    assert next_action(run) == Reflect(1, "mine")
    assert next_action(replace(run, iterations=(*run.iterations, it(2, "rejected")))) == Iterate(3, "mine")
    assert next_action(replace(run, evolve=False)) == Iterate(2, "mine")


WRONG = replace(it(0, "failed"), status=done("failed", NotBuilt("no ;")))


def test_a_task_whose_files_are_wrong_goes_on_after_its_baseline() -> None:
    run = replace(run_of(), own_files="wrong", agent="mailbox,claude")
    assert next_action(run) == Iterate(0, "baseline")
    assert next_action(replace(run, iterations=(WRONG,))) == Iterate(1, "mailbox")
    tried = (WRONG, it(1, "failed", agent="mailbox"))
    assert next_action(replace(run, iterations=tried)) == Iterate(2, "claude")
    assert next_action(replace(run, iterations=tried, pending_edit={"k.c": "1"})) == Iterate(2, "operator")
    ended = next_action(replace(run, iterations=tried, budget=Budget(iterations=1)))
    assert ended == End("failed", IterationsUsed(1))
    found = replace(run, iterations=(*tried, it(2, "baseline", 40.0, "claude")), incumbent=2)
    assert (found.first_right, len(found.without_gain), result(found)) == (2, 0, "no_gain")
    assert next_action(found) == Iterate(3, "mailbox")


def test_a_run_whose_only_winners_wait_for_a_person_has_not_failed() -> None:
    held = replace(it(1, "held", agent="mailbox"), hold="waits")
    run = replace(run_of(WRONG, held), own_files="wrong", agent="mailbox", budget=Budget(iterations=1))
    assert next_action(run) == End("no_gain", IterationsUsed(1))
    declined = replace(run, iterations=(WRONG, replace(held, hold="declined")))
    assert next_action(declined) == End("failed", IterationsUsed(1))


def test_a_task_without_files_has_no_baseline_to_try() -> None:
    run = replace(run_of(), own_files="absent", agent="mailbox,claude")
    assert next_action(run) == Iterate(0, "mailbox")


def test_a_baseline_that_fails_ends_the_run() -> None:
    step = next_action(run_of(replace(it(0, "failed"), status=done("failed", NotBuilt("no ;")))))
    assert isinstance(step, End)
    assert step.outcome == "failed"


def test_an_unfinished_iteration_goes_on() -> None:
    assert next_action(run_of(it(0, "baseline"), it(1, None))) == Iterate(1, "sweep", resumed=True)


def test_the_operators_edit_goes_before_the_agent_and_before_the_end() -> None:
    spent = Budget(iterations=1)
    run = run_of(it(0, "baseline"), it(1, "rejected"), budget=spent, pending_edit={"kernel.c": "abc"})
    assert next_action(run) == Iterate(2, "operator")


def test_budget_and_patience() -> None:
    rejected = [it(n, "rejected") for n in (1, 2, 3)]
    assert next_action(run_of(it(0, "baseline"), *rejected[:2], budget=Budget(6, 3))) == Iterate(3, "sweep")
    end = next_action(run_of(it(0, "baseline"), *rejected, budget=Budget(6, 3)))
    assert end == End("no_gain", PatienceUsed(3, 3))
    run = run_of(it(0, "baseline"), it(1, "accepted"), it(2, "failed"), budget=Budget(2, 9))
    assert next_action(confirmed(run)) == End("improved", IterationsUsed(2))


def test_trouble_and_skips_cost_nothing() -> None:
    free = [it(1, "infra"), it(2, "skipped"), it(3, "interrupted")]
    assert next_action(run_of(it(0, "baseline"), *free, budget=Budget(1, 1))) == Iterate(4, "sweep")


def test_stop_score_in_either_direction() -> None:
    run = run_of(it(0, "baseline", 100.0), gained(1, 60.0), budget=Budget(9, 9, stop_score=50.0))
    end = next_action(confirmed(run))
    assert isinstance(end, End) and isinstance(end.cause, StopScoreReached)
    assert end.cause == StopScoreReached(50, pytest.approx(40))  # type: ignore[arg-type]
    assert next_action(replace(run, budget=Budget(9, 9, stop_score=300.0)), direction="higher") == Iterate(2, "sweep")
    far = replace(run, budget=Budget(9, 9, stop_score=240.0))
    assert isinstance(next_action(confirmed(far), direction="higher"), End)


@given(st.floats(0.2, 5.0))
def test_a_slower_host_neither_reaches_nor_misses_a_stop_score(slower: float) -> None:
    """What an accepted candidate scored in its own contest says nothing: only its paired speed-up counts."""
    reached = run_of(it(0, "baseline", 100.0), gained(1, 60.0, 40.0 * slower), budget=Budget(9, 9, stop_score=50.0))
    assert isinstance(next_action(confirmed(reached)), End)
    missed = run_of(it(0, "baseline", 100.0), gained(1, 40.0, 60.0 * slower), budget=Budget(9, 9, stop_score=50.0))
    assert next_action(confirmed(missed)) == Iterate(3, "sweep")


def test_the_operator_agent_waits_for_an_edit() -> None:
    run = run_of(it(0, "baseline"))
    assert isinstance(next_action(run_of(it(0, "baseline"), budget=run.budget)), Iterate)
    assert isinstance(next_action(replace(run, agent="operator")), Wait)


def test_rolled_back_to_the_baseline_is_no_gain() -> None:
    assert result(run_of(it(0, "baseline"), it(1, "accepted"), incumbent=0)) == "no_gain"
    assert result(run_of(it(0, "baseline"), it(1, "accepted"))) == "improved"


UNSURE: dict[str, tuple[str, ...]] = {"VEC": ("1", "2", "4", "8")}


def turns(*iterations: Iteration, agent: str = "claude,sweep", **fields: object) -> Run:
    return replace(run_of(it(0, "baseline"), *iterations, **fields), agent=agent)


def unsure(number: int, outcome: Outcome = "rejected") -> Iteration:
    return replace(it(number, outcome, 9.0, "claude"), tune=UNSURE)


def swept(number: int, outcome: Outcome = "rejected") -> Iteration:
    return it(number, outcome, 9.0)


def test_an_exploration_counts_for_patience_with_what_it_explores() -> None:
    once = (unsure(1), swept(2), swept(3), swept(4))
    assert next_action(turns(*once)) == Iterate(5, "claude")
    twice = (*once, unsure(5), swept(6), swept(7))
    assert next_action(turns(*twice, budget=Budget(99, 2))) == Iterate(8, "sweep"), "the attempt is not over yet"
    end = next_action(turns(*twice, swept(8), budget=Budget(99, 2)))
    assert end == End("no_gain", PatienceUsed(2, 2))
    won = (unsure(1), swept(2, "accepted"), swept(3), swept(4))
    assert next_action(turns(*won, budget=Budget(99, 1))) == Iterate(5, "claude")
    assert isinstance(next_action(turns(*once, budget=Budget(4, 9))), End), "each counts for the iterations"


def test_a_roll_back_ends_an_exploration() -> None:
    for own in ((unsure(1, "accepted"), swept(2)), (unsure(1), swept(2, "accepted"))):
        assert next_action(turns(*own)) == Iterate(3, "sweep")
        assert next_action(turns(*own, incumbent=0)) == Iterate(3, "claude")
    both = (unsure(1, "accepted"), swept(2, "accepted"))
    assert next_action(turns(*both, incumbent=1)) == Iterate(3, "sweep"), "to what is explored: that is within it"


def test_another_incumbent_ends_an_exploration() -> None:
    edit = it(3, "accepted", 5.0, "operator")
    assert next_action(turns(unsure(1), swept(2), edit)) == Iterate(4, "claude")
    assert next_action(turns(unsure(1), swept(2), edit, incumbent=0)) == Iterate(4, "claude"), "for good"
    worse = it(3, "rejected", 50.0, "operator")
    assert next_action(turns(unsure(1), swept(2), worse)) == Iterate(4, "sweep")
    assert next_action(turns(unsure(1), swept(2), replace(worse, override=Override("ada")), incumbent=3)) == Iterate(
        4, "claude"
    )
    own = replace(swept(2), override=Override("ada"))
    assert next_action(turns(unsure(1), own, incumbent=2)) == Iterate(3, "sweep"), "a point of its own"


def exhausted(why: str) -> Done:
    return Done("skipped", NothingLeft(AgentSays(why)), 0.0, exhausted=True)


def test_one_that_has_nothing_left_leaves_the_rotation() -> None:
    empty = replace(
        it(2, "skipped", agent="script:a"),
        status=exhausted("all is proposed"),
    )
    skipped = it(1, "skipped", agent="claude")
    assert next_action(turns(skipped, empty, agent="claude,script:a")) == Iterate(3, "claude")
    later = it(3, "rejected", agent="claude")
    assert next_action(turns(skipped, empty, later, agent="claude,script:a")) == Iterate(4, "claude")
    poor = replace(
        it(3, "skipped", agent="claude"),
        status=exhausted("no money"),
    )
    last = turns(skipped, empty, poor, agent="claude,script:a")
    assert next_action(last) == End("no_gain", AgentsDone((AgentSays("all is proposed"), AgentSays("no money"))))
    assert next_action(replace(last, pending_edit={"kernel.c": "abc"})) == Iterate(4, "operator")


def test_what_agents_are_goes_by_what_their_run_was_told_of_them() -> None:
    mine, edits = AgentTraits(explores=True), AgentTraits(operators=True, waits=True)
    traits = {"mine": mine, "asked": AgentTraits(), "edits": edits}
    run = turns(it(0, "baseline", 2.0), replace(unsure(1), agent="asked"), agent="asked,mine", traits=traits)
    assert next_action(run) == Iterate(2, "mine"), "it explores"
    skipped = replace(it(2, "skipped"), agent="mine")
    assert next_action(replace(run, iterations=(*run.iterations, skipped))) == Iterate(3, "asked")
    assert isinstance(next_action(replace(run, agent="edits")), Wait)
    assert next_action(replace(run, agent="mine")) == Iterate(2, "mine"), "alone it has turns as any other"
    both = {**traits, "asked": AgentTraits(explores=True)}
    assert next_action(replace(run, traits=both)) == Iterate(2, "mine"), "and so have those that all explore"


def test_a_run_whose_hours_are_used_proposes_no_more_and_still_measures_its_result() -> None:
    run = replace(run_of(it(0, "baseline", 40.0), gained(1, 10.0)), budget=Budget(hours=2.0), late=True)
    end = next_action(run)
    assert isinstance(end, Iterate) and end.confirming == "end"
    assert next_action(confirmed(run)) == End("improved", HoursUsed(2.0))
    assert next_action(replace(run_of(it(0, "baseline", 40.0)), late=True)) == End("no_gain", HoursUsed(0.0))
    assert next_action(replace(run_of(), late=True)) == End("failed", HoursUsed(0.0))
    gpus = replace(confirmed(run), gpus_used=True, budget=Budget(hours=2.0, gpu_hours=0.5))
    assert next_action(gpus) == End("improved", GpuHoursUsed(0.5))
    assert next_action(replace(run, pending_edit={"k.c": "1"})) == Iterate(2, "operator"), "a person's edit is measured"
