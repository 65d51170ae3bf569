"""Defines the facts of operators' acts, `by` whom, and their reducers."""

from dataclasses import dataclass, field, replace

from kpd.model.agents import AgentTraits
from kpd.model.fact import Fact, IterationFact, RunFact
from kpd.model.reducers import on_iteration, on_run, reduces
from kpd.model.state import Budget, Remeasure, RuleSetting, State, Steering


@dataclass(frozen=True, slots=True)
class Steered(RunFact):
    """The operator's line `note`; the same number again replaces the text, an empty text withdraws it."""

    note: int
    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class SteeringConsumed(RunFact):
    notes: tuple[int, ...]
    iteration: int


@dataclass(frozen=True, slots=True)
class ReviewSet(RunFact):
    """Whether candidates wait for a person after `screen`; off, one that waits goes on."""

    on: bool
    by: str = ""


@dataclass(frozen=True, slots=True)
class BudgetChanged(RunFact):
    """What the run may spend from now on."""

    budget: Budget
    by: str = ""


@dataclass(frozen=True, slots=True)
class AgentChanged(RunFact):
    """Who proposes from the next iteration on, and with which model (empty: the one in config.toml)."""

    agent: str
    model: str = ""
    by: str = ""
    traits: dict[str, AgentTraits] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleSet(RunFact):
    """What agents are told of a rule from the next iteration on: first of all, never, or by its severity."""

    rule: str
    stand: RuleSetting
    by: str = ""


@dataclass(frozen=True, slots=True)
class AgainAsked(RunFact):
    """Iteration `of` is to be proposed once more; `thorough`: timed with all processes that a verdict can use."""

    of: int
    thorough: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class QueueOrdered(Fact):
    """The runs that wait, in the order that they are to begin in."""

    runs: tuple[str, ...]
    by: str = ""


@dataclass(frozen=True, slots=True)
class ReviewAsked(IterationFact):
    """The candidate waits for a person to look at it."""


@dataclass(frozen=True, slots=True)
class Approved(IterationFact):
    """It may be built."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class Declined(IterationFact):
    """It is not to be built; its agent is told why."""

    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class RolledBack(IterationFact):
    """The incumbent is iteration `iteration` again; nothing is erased. `undo`: it was that before the last such act."""

    files: dict[str, str]
    by: str = ""
    undo: bool = False


@dataclass(frozen=True, slots=True)
class MemoGiven(IterationFact):
    """The operator's own words on an iteration."""

    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Noted(RunFact):
    """A line for whoever reads the run's log later; it changes nothing."""

    text: str
    by: str = ""


# ── what they change ──────────────────────────────────────────────────────────────────────────────────────────────


@reduces(Steered)
def _steered(state: State, at: float, fact: Steered) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    notes = {line.note: line for line in run.steering}
    if fact.text:
        notes[fact.note] = Steering(fact.note, fact.text, fact.by, at)
    else:
        notes.pop(fact.note, None)
    return on_run(state, fact.run, steering=tuple(notes.values()))


@reduces(SteeringConsumed)
def _steering_consumed(state: State, at: float, fact: SteeringConsumed) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    lines = (replace(s, consumed_by=fact.iteration) if s.note in fact.notes else s for s in run.steering)
    return on_run(state, fact.run, steering=tuple(lines))


@reduces(RolledBack)
def _rolled_back(state: State, at: float, fact: RolledBack) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    before = run.before if fact.iteration == run.incumbent else run.incumbent  # written once more, nothing was decided
    return on_run(state, fact.run, incumbent=fact.iteration, files=fact.files, before=before)


@reduces(MemoGiven)
def _memo_given(state: State, at: float, fact: MemoGiven) -> State:
    return on_iteration(state, fact, memo=fact.text, memo_given=True)


@reduces(ReviewSet)
def _review_set(state: State, at: float, fact: ReviewSet) -> State:
    return on_run(state, fact.run, approve=fact.on)


@reduces(ReviewAsked)
def _review_asked(state: State, at: float, fact: ReviewAsked) -> State:
    return on_iteration(state, fact, review="waits")


@reduces(Approved)
def _approved(state: State, at: float, fact: Approved) -> State:
    return on_iteration(state, fact, review="approved")


@reduces(Declined)
def _declined(state: State, at: float, fact: Declined) -> State:
    return on_iteration(state, fact, review="declined")


@reduces(BudgetChanged)
def _budget_changed(state: State, at: float, fact: BudgetChanged) -> State:
    return on_run(state, fact.run, budget=fact.budget)


@reduces(AgentChanged)
def _agent_changed(state: State, at: float, fact: AgentChanged) -> State:
    run = state.runs.get(fact.run)
    traits = {**run.traits, **fact.traits} if run is not None else {}
    return on_run(state, fact.run, agent=fact.agent, model=fact.model, traits=traits)


@reduces(RuleSet)
def _rule_set(state: State, at: float, fact: RuleSet) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    stands = {rule: stand for rule, stand in run.stands.items() if rule != fact.rule}
    if fact.stand != "plain":
        stands[fact.rule] = fact.stand
    return on_run(state, fact.run, stands=stands)


@reduces(AgainAsked)
def _again_asked(state: State, at: float, fact: AgainAsked) -> State:
    run = state.runs.get(fact.run)
    again = () if run is None else (*run.again, Remeasure(fact.of, fact.thorough, fact.by))
    return on_run(state, fact.run, again=again)


@reduces(QueueOrdered)
def _queue_ordered(state: State, at: float, fact: QueueOrdered) -> State:
    """Return those that are named come before all that are queued later."""
    for turn, run in enumerate(fact.runs, -len(fact.runs)):
        state = on_run(state, run, turn=turn)
    return state
