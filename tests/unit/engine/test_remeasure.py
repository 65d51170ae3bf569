"""What an operator wants to see once more, and what is undone: the plan, the fold, the contest, and a real daemon."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.engine.plan import End, Iterate, next_action
from kpd.measure.contest import contest
from kpd.measure.judge import LOOKS, decide
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.fold import fold, fold_all
from kpd.model.iteration import Iteration, Override, Remeasure
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Outcome
from tests.support.measure.canned import Canned
from tests.support.model.samples import done, run_of

WISH = (Remeasure(1, True, "me"), Remeasure(0, False, "me"))


def it(number: int, outcome: Outcome | None, agent: str = "sweep", again: int | None = None) -> Iteration:
    return Iteration(number, agent if number else "baseline", 0, 0.0, status=done(outcome), again=again)


def test_what_is_wanted_again_comes_after_an_edit_and_before_the_end() -> None:
    run = run_of(it(0, "baseline"), it(1, "rejected"), budget=Budget(iterations=1), again=WISH)
    assert next_action(run) == Iterate(2, "again", of=1, thorough=True)
    assert next_action(replace(run, pending_edit={"kernel.c": "ab"})) == Iterate(2, "operator")
    assert next_action(replace(run, agent="operator")) == Iterate(2, "again", of=1, thorough=True)
    assert isinstance(next_action(replace(run, again=())), End)
    assert next_action(replace(run, incumbent=None, iterations=())) == Iterate(0, "baseline")


def test_after_a_restart_it_goes_on() -> None:
    run = run_of(it(0, "baseline"), it(1, "rejected"), it(2, None, "again", again=1))
    assert next_action(run) == Iterate(2, "again", resumed=True)


@given(st.lists(st.sampled_from(("rejected", "accepted", "failed", "again")), max_size=12), st.integers(1, 6))
def test_it_uses_up_neither_iterations_nor_patience(tried: list[str], patience: int) -> None:
    own: list[Iteration] = []
    for number, word in enumerate(tried, start=1):
        own.append(it(number, "rejected", "again", again=0) if word == "again" else it(number, word))  # type: ignore[arg-type]
    budget = Budget(8, patience)
    run = run_of(it(0, "baseline"), *own, budget=budget)
    without = run_of(it(0, "baseline"), *(one for one in own if one.again is None), budget=budget)
    assert run.counted == without.counted
    assert next_action(run) == next_action(without) or isinstance(next_action(run), Iterate)
    assert isinstance(next_action(run), End) == isinstance(next_action(without), End)


def test_a_gain_that_it_shows_begins_the_patience_anew() -> None:
    vain = [it(number, "rejected") for number in (1, 2)]
    budget = Budget(9, 2)
    assert isinstance(next_action(run_of(it(0, "baseline"), *vain, budget=budget)), End)
    run = run_of(it(0, "baseline"), *vain, it(3, "accepted", "again", again=1), budget=budget)
    assert next_action(run) == Iterate(4, "sweep")


def test_the_next_agent_in_turn_is_not_confused_by_it() -> None:
    run = replace(run_of(it(0, "baseline"), it(1, "rejected", "claude"), it(2, "rejected", "again", again=1)))
    assert next_action(replace(run, agent="claude,mailbox")) == Iterate(3, "mailbox")


# ── the fold ──────────────────────────────────────────────────────────────────────────────────────────────────────


def state_of(*facts: e.Fact) -> State:
    return fold_all(e.Event(n, float(n), fact) for n, fact in enumerate(facts, start=1))


QUEUED = e.RunQueued("r1", "scale", "sweep", "local", Budget())
STARTED = tuple(e.IterationStarted("r1", number, "sweep", 0) for number in range(4))


def test_wishes_are_carried_out_one_after_another() -> None:
    wishes = (e.AgainAsked("r1", 1, True, "me"), e.AgainAsked("r1", 2, False, "me"))
    run = state_of(QUEUED, *STARTED, *wishes).runs["r1"]
    assert run.again == (Remeasure(1, True, "me"), Remeasure(2, False, "me"))
    begun = e.IterationStarted("r1", 4, "again", 0, again=1, thorough=True)
    run = state_of(QUEUED, *STARTED, *wishes, begun).runs["r1"]
    assert run.again == (Remeasure(2, False, "me"),)
    assert (run.iterations[-1].again, run.iterations[-1].thorough) == (1, True)


def undone(state: State) -> State:
    """As `decisions.undo` does, where there is something to undo."""
    run = state.runs["r1"]
    if run.before is None:
        return state
    return fold(state, e.Event(state.seq + 1, 0.0, e.RolledBack("r1", run.before, {"k": str(run.before)}, undo=True)))


def seen(run: Run) -> tuple[int | None, dict[str, str]]:
    return run.incumbent, run.files


@given(st.lists(st.tuples(st.sampled_from(("kpd", "accept", "rollback")), st.integers(0, 3)), max_size=8))
def test_undo_brings_the_former_incumbent_back_and_undo_again_takes_that_back(acts: list[tuple[str, int]]) -> None:
    state = state_of(QUEUED, *STARTED, e.Accepted("r1", 0, {"k": "0"}))
    former: tuple[int | None, dict[str, str]] | None = None
    for act, number in acts:
        files = {"k": str(number)}
        now = state.runs["r1"]
        fact: e.Fact = e.RolledBack("r1", number, files)
        if act != "rollback":
            if number == now.incumbent:
                continue  # the engine refuses this
            fact = e.Accepted("r1", number, files, Override("ada") if act == "accept" else None)
        if number != now.incumbent:
            former = None if act == "kpd" else seen(now)
        state = fold(state, e.Event(state.seq + 1, 0.0, fact))
    after = undone(state)
    if former is None:
        assert after == state
    else:
        assert seen(after.runs["r1"]) == former
        assert seen(undone(after).runs["r1"]) == seen(state.runs["r1"])


# ── all processes that a verdict can use ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("candidate_ns", [500, 1000, 2000])
async def test_a_thorough_contest_goes_on_to_the_last_look(candidate_ns: int) -> None:
    bench = Canned(candidate_ns)
    samples = await contest(bench, "a", "b", "r1.1-{}".format, 2.0, print, lambda taken: None, True)  # type: ignore[arg-type]
    assert len(samples) == LOOKS[-1]
    assert decide(samples, 2.0, thorough=True) == decide(samples, 2.0) == 0
    left = [decide(samples[:count], 2.0, thorough=True) for count in range(LOOKS[-1])]
    assert all(left), "it wants more until it has all"
