"""The fold of what operators do."""

from dataclasses import replace

from kpd.model import acts
from kpd.model.folders import folds, on_iteration, on_run
from kpd.model.nouns import Again, State, Steering


@folds(acts.Steered)
def _steered(state: State, at: float, fact: acts.Steered) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    notes = {line.note: line for line in run.steering}
    if fact.text:
        notes[fact.note] = Steering(fact.note, fact.text, fact.by, at)
    else:
        notes.pop(fact.note, None)
    return on_run(state, fact.run, steering=tuple(notes.values()))


@folds(acts.SteeringConsumed)
def _steering_consumed(state: State, at: float, fact: acts.SteeringConsumed) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    lines = (replace(s, consumed_by=fact.iteration) if s.note in fact.notes else s for s in run.steering)
    return on_run(state, fact.run, steering=tuple(lines))


@folds(acts.RolledBack)
def _rolled_back(state: State, at: float, fact: acts.RolledBack) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    before = run.before if fact.iteration == run.incumbent else run.incumbent  # written once more, nothing was decided
    return on_run(state, fact.run, incumbent=fact.iteration, files=fact.files, before=before)


@folds(acts.MemoGiven)
def _memo_given(state: State, at: float, fact: acts.MemoGiven) -> State:
    return on_iteration(state, fact, memo=fact.text)


@folds(acts.ReviewSet)
def _review_set(state: State, at: float, fact: acts.ReviewSet) -> State:
    return on_run(state, fact.run, approve=fact.on)


@folds(acts.ReviewAsked)
def _review_asked(state: State, at: float, fact: acts.ReviewAsked) -> State:
    return on_iteration(state, fact, review="waits")


@folds(acts.Approved)
def _approved(state: State, at: float, fact: acts.Approved) -> State:
    return on_iteration(state, fact, review="approved")


@folds(acts.Declined)
def _declined(state: State, at: float, fact: acts.Declined) -> State:
    return on_iteration(state, fact, review="declined")


@folds(acts.BudgetChanged)
def _budget_changed(state: State, at: float, fact: acts.BudgetChanged) -> State:
    return on_run(state, fact.run, budget=fact.budget)


@folds(acts.AgentChanged)
def _agent_changed(state: State, at: float, fact: acts.AgentChanged) -> State:
    return on_run(state, fact.run, agent=fact.agent, model=fact.model)


@folds(acts.RuleSet)
def _rule_set(state: State, at: float, fact: acts.RuleSet) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    stands = {rule: stand for rule, stand in run.stands.items() if rule != fact.rule}
    if fact.stand != "plain":
        stands[fact.rule] = fact.stand
    return on_run(state, fact.run, stands=stands)


@folds(acts.AgainAsked)
def _again_asked(state: State, at: float, fact: acts.AgainAsked) -> State:
    run = state.runs.get(fact.run)
    again = () if run is None else (*run.again, Again(fact.of, fact.thorough, fact.by))
    return on_run(state, fact.run, again=again)


@folds(acts.QueueOrdered)
def _queue_ordered(state: State, at: float, fact: acts.QueueOrdered) -> State:
    """Those that are named come before all that are queued later."""
    for turn, run in enumerate(fact.runs, -len(fact.runs)):
        state = on_run(state, run, turn=turn)
    return state
