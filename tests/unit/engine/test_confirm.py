"""Before a run ends its best is measured against the baseline: what the plan, the fold and the result make of it."""

from dataclasses import replace
from typing import Any

import pytest

from kpd.engine.plan import End, Iterate, next_action, result
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import IterationsUsed, Skipped, Stopped, TooBusy
from kpd.model.fold import fold_all
from kpd.model.headline import headline
from kpd.model.iteration import Iteration, Remeasure
from kpd.model.run import Run
from kpd.model.status import Ended, Outcome, Queued
from kpd.model.verdicts import Gain, Verdict
from tests.support.model.samples import done, run_of

SPENT = Budget(iterations=2, patience=9)


def it(number: int, outcome: Outcome | None, pct: float = 10.0, **given: Any) -> Iteration:
    verdict = None if outcome in (None, "skipped", "infra") else Verdict(
        "faster", Gain(pct, pct - 1, pct + 1), 7, pct > 0, "confirmed" if pct > 0 else "slower", 1.0
    )  # fmt: skip
    fields: dict[str, Any] = {"status": done(outcome), "verdict": verdict, **given}
    return Iteration(number, "sweep" if number else "baseline", max(number - 1, 0), 0.0, **fields)


def confirming(number: int, of: int, outcome: Outcome | None, pct: float = 10.0, **given: object) -> Iteration:
    found = it(number, outcome, pct, again=of, confirming="end", **given)
    return replace(found, agent="again", parent=0)


OWN = (it(0, "baseline", 0.0), it(1, "accepted"), it(2, "accepted"))


def ended(*more: Iteration, incumbent: int = 2) -> Run:
    return run_of(*OWN, *more, budget=SPENT, incumbent=incumbent)


def test_the_best_is_measured_once_more_before_the_end() -> None:
    assert next_action(ended()) == Iterate(3, "again", of=2, confirming="end")
    assert next_action(ended(confirming(3, 2, None))) == Iterate(3, "again", resumed=True), "also after a restart"
    assert isinstance(next_action(ended(confirming(3, 2, "measured"))), End)


def test_nothing_is_measured_where_nothing_was_accepted() -> None:
    vain = [replace(it(n, "rejected", -1.0), parent=0) for n in (1, 2)]
    assert isinstance(next_action(run_of(OWN[0], *vain, budget=SPENT)), End)


@pytest.mark.parametrize(
    ("outcome", "cause"), [("infra", TooBusy("15 of 20 were disturbed")), ("skipped", Skipped("me"))]
)
def test_a_contest_without_a_result_ends_the_run_all_the_same(outcome: Outcome, cause: TooBusy | Skipped) -> None:
    run = ended(confirming(3, 2, outcome, status=done(outcome, cause)))
    step = next_action(run)
    assert isinstance(step, End) and step.outcome == "improved"
    found = headline(run)
    assert found is not None and (found.how, found.cause) == ("unconfirmed", cause)


def test_the_one_that_it_gave_way_to_is_measured_next() -> None:
    run = ended(confirming(3, 2, "measured", -1.0), incumbent=1)
    assert next_action(run) == Iterate(4, "again", of=1, confirming="end")
    run = ended(confirming(3, 2, "measured", -1.0), confirming(4, 1, "measured", -1.0), incumbent=0)
    step = next_action(run)
    assert isinstance(step, End) and step.outcome == "no_gain"


def test_it_uses_up_neither_iterations_nor_patience() -> None:
    run = ended(confirming(3, 2, "measured"))
    assert len(run.counted) == 2 and run.without_gain == ()


def test_an_incumbent_that_stays_although_it_is_slower_is_no_improvement() -> None:
    assert result(ended(confirming(3, 2, "measured", -1.0))) == "no_gain"
    assert result(ended(confirming(3, 2, "measured", 10.0))) == "improved"


def test_what_a_person_brought_back_is_measured_in_its_turn() -> None:
    wish = Remeasure(1, False, "me", "decision")
    run = run_of(*OWN, again=(wish,), incumbent=1)
    assert next_action(run) == Iterate(3, "again", of=1, confirming="decision")


def folded(*facts: e.Fact) -> Run:
    queued = e.RunQueued("r1", "task", "sweep", "local", Budget())
    begun = [e.IterationStarted("r1", 0, "baseline", 0), e.Accepted("r1", 0, {"k": "0"})]
    events = (e.Event(seq, float(seq), fact) for seq, fact in enumerate((queued, *begun, *facts), start=1))
    return fold_all(events).runs["r1"]


def test_only_the_last_decision_waits_to_be_measured() -> None:
    asked = [e.AgainAsked("r1", of, by="me", confirming="decision") for of in (1, 2)]
    run = folded(asked[0], e.AgainAsked("r1", 0, True, "me"), asked[1])
    assert run.again == (Remeasure(0, True, "me"), Remeasure(2, False, "me", "decision"))
    begun = e.IterationStarted("r1", 1, "again", 0, again=2, confirming="end")
    assert folded(*asked, begun).again == (Remeasure(2, False, "me", "decision"),), (
        "an end takes nothing from the queue"
    )
    assert folded(*asked, replace(begun, confirming="decision")).again == ()


def test_giving_way_is_nobodys_decision() -> None:
    run = folded(e.RolledBack("r1", 1, {"k": "1"}, "me"), e.GaveWay("r1", 0, {"k": "0"}, 1))
    assert (run.incumbent, run.files, run.before) == (0, {"k": "0"}, None)


def test_a_run_that_has_ended_goes_on_for_one_contest_and_ends_as_before() -> None:
    over = e.RunEnded("r1", "improved", IterationsUsed(2))
    run = folded(e.RunStarted("r1", "cpu"), over, e.AgainAsked("r1", 0, by="me", confirming="decision"))
    assert isinstance(run.status, Queued) and run.reopened is not None
    wish = Remeasure(1, False, "me", "decision")
    going = replace(ended(incumbent=1), reopened=run.reopened, again=(wish,), budget=Budget(9, 9))
    assert next_action(going) == Iterate(3, "again", of=1, confirming="decision")
    edited = replace(going, again=(), pending_edit={"k": "1"})
    assert next_action(edited) == End("improved", IterationsUsed(2)), "an edit belongs to the next run"
    stopped = replace(edited, reopened=Ended("stopped", Stopped("me"), 1.0))
    assert next_action(stopped) == End("stopped", Stopped("me"))
    assert folded(over, e.AgainAsked("r1", 0, confirming="decision"), over).reopened is None
