"""The fold is pure: the same log gives the same state, however it is cut up."""

from dataclasses import replace
from typing import get_args

from hypothesis import given, strategies as st

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.detail import Detail, detail
from kpd.model.fold import fold, fold_all
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.notices import Finishing, Said, SettingsRead, SettingsRefused
from kpd.model.profiles import Finding
from kpd.model.reducers import NOTICES_KEPT
from kpd.model.state import State
from kpd.model.status import Ended, Outcome
from kpd.model.verdicts import Gain, Verdict
from kpd.text.notices import notice as told
from tests.support.model.strategies import logs


@given(logs)
def test_folding_from_scratch_equals_the_live_state(log: list[e.Event]) -> None:
    live = State()
    for event in log:
        live = fold(live, event)
    assert fold_all(log) == live


@given(logs, st.data())
def test_folding_a_prefix_twice_changes_nothing(log: list[e.Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    prefix = fold_all(log[:cut])
    assert fold_all(log[:cut], prefix) == prefix
    assert fold_all(log, prefix) == fold_all(log)


@given(logs, st.data())
def test_the_fold_leaves_the_earlier_state_as_it_was(log: list[e.Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    earlier = fold_all(log[:cut])
    before = repr(earlier)
    fold_all(log[cut:], earlier)
    assert repr(earlier) == before


@given(logs)
def test_the_state_knows_the_event_it_stands_at(log: list[e.Event]) -> None:
    state = fold_all(log)
    assert state.seq == len(log)
    assert state.at == float(len(log))


@given(logs)
def test_iterations_of_a_run_stay_in_the_order_they_began(log: list[e.Event]) -> None:
    for run in fold_all(log).runs.values():
        begun = [it.started for it in run.iterations]
        assert begun == sorted(begun)
        assert run.incumbent is None or run.best is None or run.best.number == run.incumbent


@given(logs)
def test_an_iteration_s_detail_has_the_last_of_each_fact_since_the_last_fault(log: list[e.Event]) -> None:
    own = [ev for ev in log if isinstance(ev.fact, e.IterationFact) and (ev.fact.run, ev.fact.iteration) == ("r1", 1)]
    found = detail(own)
    faults = [event.fact for event in own if isinstance(event.fact, e.Faulted)]
    assert list(found.faults) == faults
    since = own[own.index(next(ev for ev in own if ev.fact is faults[-1])) :] if faults else own
    for cls in e.STEP_OF:
        last = next((event.fact for event in reversed(since) if isinstance(event.fact, cls)), None)
        assert getattr(found, cls.kind()) == last


def story(*facts: e.Fact) -> State:
    return fold_all(e.Event(n, 10.0 * n, fact) for n, fact in enumerate(facts, start=1))


QUEUED = e.RunQueued("r1", "scale", "sweep", "local", Budget())
VERDICT = Verdict("faster", Gain(5.0, 4.0, 6.0), 7, True, "told", told="faster")


def test_a_run_from_queue_to_end() -> None:
    baseline = (e.IterationStarted("r1", 0, "baseline", 0), e.IterationEnded("r1", 0, "baseline", Told("")))
    first = (
        e.IterationStarted("r1", 1, "sweep", 0),
        e.StepStarted("r1", 1, "propose"),
        e.Proposed("r1", 1, 0.1, 0.1, {"kernel.c": "ab"}, "tile 8", point={"tile": "8"}),
        e.Judged("r1", 1, 0.1, 0.1, VERDICT),
    )
    queued = story(QUEUED)
    assert [run.id for run in queued.queue] == ["r1"]
    assert queued.active is None

    running = story(QUEUED, e.RunStarted("r1", "cpu 3"), *baseline, *first)
    run = running.runs["r1"]
    assert running.active == run
    assert running.queue == ()
    assert run.current is not None
    assert (run.current.number, run.current.memo, run.current.verdict) == (1, "tile 8", VERDICT)

    accepted = (e.Accepted("r1", 1, {"kernel.c": "ab"}), e.IterationEnded("r1", 1, "accepted", Told("")))
    last = e.RunEnded("r1", "improved", Told("done"))
    ended = story(QUEUED, e.RunStarted("r1", "cpu 3"), *baseline, *first, *accepted, last)
    run = ended.runs["r1"]
    assert (run.incumbent, run.current) == (1, None)
    assert isinstance(run.status, Ended) and run.status.outcome == "improved"
    assert run.best is not None and run.best.outcome == "accepted"
    assert ended.active is None


def test_steering_is_replaced_withdrawn_and_consumed() -> None:
    state = story(QUEUED, e.Steered("r1", 1, "wider"), e.Steered("r1", 2, "tile"), e.Steered("r1", 1, "narrower"))
    assert [(line.note, line.text) for line in state.runs["r1"].steering] == [(1, "narrower"), (2, "tile")]
    state = fold(state, e.Event(5, 50.0, e.Steered("r1", 2, "")))
    state = fold(state, e.Event(6, 60.0, e.SteeringConsumed("r1", (1,), 4)))
    assert [(line.note, line.consumed_by) for line in state.runs["r1"].steering] == [(1, 4)]


def test_a_rollback_appends_and_erases_nothing() -> None:
    steps = [e.IterationStarted("r1", n, "sweep", 0) for n in range(3)]
    state = story(QUEUED, *steps, e.Accepted("r1", 2, {"k": "2"}), e.RolledBack("r1", 0, {"k": "0"}))
    run = state.runs["r1"]
    assert (run.incumbent, run.files, len(run.iterations)) == (0, {"k": "0"}, 3)


def test_facts_about_runs_and_iterations_that_are_not_there_change_nothing_else() -> None:
    state = story(
        e.RunPaused("r9", Told("x")), e.StepStarted("r9", 1, "build"), QUEUED, e.StepStarted("r1", 7, "build")
    )
    assert replace(state, runs={}, seq=0, at=0.0) == State()
    assert state.runs["r1"].iterations == ()


def test_only_the_newest_notices_are_kept() -> None:
    state = story(*(e.Noticed("info", Said(str(n))) for n in range(NOTICES_KEPT + 7)))
    assert [told(notice) for notice in state.notices] == [str(n) for n in range(7, NOTICES_KEPT + 7)]


def test_a_refusal_of_the_settings_goes_once_they_have_been_read() -> None:
    refused, other = e.Noticed("error", SettingsRefused("line 2")), e.Noticed("info", Said("x"))
    assert len(story(refused, other).notices) == 2
    state = story(refused, other, refused, e.Noticed("info", SettingsRead(changed=False)))
    assert [notice.about for notice in state.notices] == [Said("x"), SettingsRead(changed=False)]


def test_a_daemon_that_starts_has_read_its_settings_and_does_not_end() -> None:
    told = (e.Noticed("error", SettingsRefused("line 2")), e.Noticed("info", Finishing(("x",))))
    state = story(*told, e.Noticed("info", Said("x")), e.DaemonStarted("1", 7, "/w"))
    assert [notice.about for notice in state.notices] == [Said("x")]


def test_a_detail_begins_anew_after_a_fault() -> None:
    facts = (
        e.Proposed("r1", 1, 0, 0, {}, "first"),
        e.Built("r1", 1, 0, 0, "job", False),
        e.Faulted("r1", 1, "check", 1, Told("wrong")),
        e.Proposed("r1", 1, 0, 0, {}, "second"),
    )
    found = detail(e.Event(n, 0.0, fact) for n, fact in enumerate(facts, start=1))
    assert found == Detail(proposed=facts[3], faults=(facts[2],))


def test_what_was_measured_of_a_candidate_goes_with_its_fault() -> None:
    steps = (
        e.IterationStarted("r1", 1, "claude", 0),
        e.Proposed("r1", 1, 0, 0, {}, "memo", aims=("call_in_loop",), tune={"VEC": ("1", "2")}),
        e.Screened("r1", 1, 0, 0, ("flag",)),
        e.Timed("r1", 1, 0, 0, 12.0, 5, (), roofline_pct=40.0),
        e.Judged("r1", 1, 0, 0, VERDICT),
        e.Explained("r1", 1, 0, 0, "memory", (Finding("call_in_loop", "high", "", ""),)),
    )
    measured = story(QUEUED, *steps).runs["r1"].iterations[0]
    assert (measured.score, measured.verdict, measured.rules) == (12.0, VERDICT, ("call_in_loop",))
    faulted = story(QUEUED, *steps, e.Faulted("r1", 1, "judge", 1, Told("incorrect"))).runs["r1"].iterations[0]
    blank = Iteration(1, "claude", 0, faulted.started, memo="memo", aims=measured.aims, tune=measured.tune)
    assert faulted == blank


@given(st.sampled_from(get_args(Outcome)))
def test_notes_that_an_iteration_was_given_in_vain_are_given_again(outcome: Outcome) -> None:
    facts = (
        e.IterationStarted("r1", 1, "claude", 0), e.Steered("r1", 1, "wider"), e.Steered("r1", 2, "longer"),
        e.SteeringConsumed("r1", (1,), 0), e.SteeringConsumed("r1", (2,), 1),
        e.IterationEnded("r1", 1, outcome, Told("")),
    )  # fmt: skip
    kept = None if outcome in ("skipped", "interrupted") else 1
    assert [line.consumed_by for line in story(QUEUED, *facts).runs["r1"].steering] == [0, kept]


def test_a_person_s_pause_keeps_what_the_step_under_way_waits_for() -> None:
    begun = (
        e.RunQueued("r1", "scale", "mailbox", "any", Budget(), "ada", False),
        e.RunWaits("r1", Told("for reply.md")),
    )
    for infra, kept in ((False, Told("for reply.md")), (True, None)):
        facts = (*begun, e.RunPaused("r1", Told("paused"), "ada", infra), e.RunResumed("r1", "ada"))
        state = fold_all([e.Event(number, float(number), fact) for number, fact in enumerate(facts, 1)])
        assert state.runs["r1"].waiting == kept


def test_a_trial_uses_the_device_while_its_agent_thinks_and_changes_nothing_else() -> None:
    begun = (QUEUED, e.IterationStarted("r1", 0, "x", 0), e.StepStarted("r1", 0, "propose", 1, "thinks"))
    tried = e.Tried("r1", 0, 1, "measured", 0, 2.0)
    before = story(*begun).runs["r1"]
    during = story(*begun, e.TrialStarted("r1", 0, 1, {})).runs["r1"]
    after = story(*begun, e.TrialStarted("r1", 0, 1, {}), tried).runs["r1"]
    assert during.iterations[0].under_way is not None and during.iterations[0].under_way.use == "measures"
    assert after == before
    done = (e.StepStarted("r1", 0, "build"),)
    assert story(*begun, *done, tried).runs["r1"] == story(*begun, *done).runs["r1"], "a late one changes nothing"


def test_trials_of_all_attempts_are_kept() -> None:
    tried = e.Tried("r1", 0, 1, "wrong", 0, 2.0)
    found = Detail().with_fact(tried).with_fact(e.Faulted("r1", 0, "build", 1, Told("no"))).with_fact(tried)
    assert found.trials == (tried, tried)
