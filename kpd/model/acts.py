"""Defines the facts that record what operators did (`by` says who), and their reducers."""

from dataclasses import dataclass, field, replace

from kpd.model.agents import AgentTraits
from kpd.model.budget import Budget
from kpd.model.fact import Fact, IterationFact, RunFact
from kpd.model.iteration import Confirming, PersonsAnswer, Remeasure
from kpd.model.reducers import on_iteration, on_run, reduces
from kpd.model.run import RuleSetting, Steering
from kpd.model.state import State
from kpd.model.status import Ended, Queued


@dataclass(frozen=True, slots=True)
class Steered(RunFact):
    """A steering note from the operator. The same number again replaces its text; an empty text withdraws it."""

    note: int
    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class SteeringConsumed(RunFact):
    notes: tuple[int, ...]
    iteration: int


@dataclass(frozen=True, slots=True)
class ReviewSet(RunFact):
    """A switch: whether candidates wait for a person after `screen`. Switched off, a candidate that waits goes on."""

    on: bool
    by: str = ""


@dataclass(frozen=True, slots=True)
class BudgetChanged(RunFact):
    """A new budget, in force from now on. A run that its hours had ended is queued again, and has the new ones."""

    budget: Budget
    by: str = ""


@dataclass(frozen=True, slots=True)
class AgentChanged(RunFact):
    """A new choice of who proposes from the next iteration on, and with which model (empty: the one in config.toml)."""

    agent: str
    model: str = ""
    by: str = ""
    traits: dict[str, AgentTraits] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleSet(RunFact):
    """A choice of when agents hear of a rule, from the next iteration on: first of all, never, or by its severity."""

    rule: str
    stand: RuleSetting
    by: str = ""


@dataclass(frozen=True, slots=True)
class AgainAsked(RunFact):
    """A request to measure iteration `of` once more; the fields are those of `Remeasure`.

    A run that has ended is queued again, only for this.
    """

    of: int
    thorough: bool = False
    by: str = ""
    confirming: Confirming = ""


@dataclass(frozen=True, slots=True)
class QueueOrdered(Fact):
    """The queued runs, in the order in which they are to begin."""

    runs: tuple[str, ...]
    by: str = ""


@dataclass(frozen=True, slots=True)
class ReviewAsked(IterationFact):
    """The moment when a candidate began to wait for a person's review."""


@dataclass(frozen=True, slots=True)
class Approved(IterationFact):
    """A person's approval: the candidate may be built; one that was held is measured again, whatever its flags."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class Declined(IterationFact):
    """A person's refusal: the candidate is not built, or stays held for good. Its agent is told why."""

    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Adopted(IterationFact):
    """A person's choice of an iteration whose files the task folder has from now on."""

    files: dict[str, str]
    by: str = ""


@dataclass(frozen=True, slots=True)
class RolledBack(IterationFact):
    """A return to iteration `iteration` as the incumbent; nothing is erased.

    `undo`: it takes back the last decision of a person.
    """

    files: dict[str, str]
    by: str = ""
    undo: bool = False


@dataclass(frozen=True, slots=True)
class MemoGiven(IterationFact):
    """A memo on an iteration, in the operator's own words."""

    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Noted(RunFact):
    """A line for readers of the run's log; it changes nothing."""

    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Pruned(RunFact):
    """The removal of the files of these iterations from the run's folder; the log keeps all that was found."""

    iterations: tuple[int, ...]
    by: str = ""


# ── their reducers ────────────────────────────────────────────────────────────────────────────────────────────────


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


@reduces(Adopted)
def _adopted(state: State, at: float, fact: Adopted) -> State:
    return on_run(state, fact.run, folder=fact.files)


@reduces(RolledBack)
def _rolled_back(state: State, at: float, fact: RolledBack) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    before = run.before if fact.iteration == run.incumbent else run.incumbent  # the same one again: no decision
    return on_run(state, fact.run, incumbent=fact.iteration, files=fact.files, before=before)


@reduces(Pruned)
def _pruned(state: State, at: float, fact: Pruned) -> State:
    run = state.runs.get(fact.run)
    return state if run is None else on_run(state, fact.run, pruned=(*run.pruned, *fact.iterations))


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
    return _answered(state, fact, "approved")


@reduces(Declined)
def _declined(state: State, at: float, fact: Declined) -> State:
    return _answered(state, fact, "declined")


def _answered(state: State, fact: IterationFact, answer: PersonsAnswer) -> State:
    """Keep a person's answer: on the flags of a winner that is held, else on a candidate before it is built."""
    run = state.runs.get(fact.run)
    found = run.iteration(fact.iteration) if run is not None else None
    if found is not None and found.hold:
        return on_iteration(state, fact, hold=answer)
    return on_iteration(state, fact, review=answer)


def _hours(budget: Budget) -> tuple[float, float]:
    return budget.hours, budget.gpu_hours


@reduces(BudgetChanged)
def _budget_changed(state: State, at: float, fact: BudgetChanged) -> State:
    run = state.runs.get(fact.run)
    if run is not None and run.out_of_hours:
        return on_run(state, fact.run, budget=fact.budget, status=Queued(), clock=None, late=False, gpus_used=False)
    if run is not None and _hours(run.budget) != _hours(fact.budget):
        return on_run(state, fact.run, budget=fact.budget, late=False, gpus_used=False)
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
    waiting = () if run is None else run.again
    if fact.confirming:  # only the incumbent's number is asked for, whatever it was when somebody decided before
        waiting = tuple(wish for wish in waiting if not wish.confirming)
    again = (*waiting, Remeasure(fact.of, fact.thorough, fact.by, fact.confirming))
    if run is not None and isinstance(run.status, Ended):  # it goes on for this one contest
        return on_run(state, fact.run, again=again, status=Queued(), reopened=run.status)
    return on_run(state, fact.run, again=again)


@reduces(QueueOrdered)
def _queue_ordered(state: State, at: float, fact: QueueOrdered) -> State:
    """Put the named runs before all runs that are queued later."""
    for turn, run in enumerate(fact.runs, -len(fact.runs)):
        state = on_run(state, run, turn=turn)
    return state
