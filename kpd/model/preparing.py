"""Defines the facts of the phases before a run's first iteration, and decides which phase is to be begun now."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kpd.model.deploying import goes_on
from kpd.model.fact import RunFact
from kpd.model.preparation import BeforePhase, Phase, PhaseResult
from kpd.model.reducers import on_run, reduces
from kpd.model.run import Run
from kpd.model.spending import Purpose, Spend
from kpd.model.state import State


@dataclass(frozen=True, slots=True)
class PhaseBegun(RunFact):
    """The start of a process that does a phase before the run's first iteration; again where one was ended."""

    phase: BeforePhase


@dataclass(frozen=True, slots=True)
class PhaseEnded(RunFact):
    """What such a phase came to, after `seconds`; `spend` is what models have cost for it, by purpose."""

    phase: BeforePhase
    result: PhaseResult
    seconds: float = 0.0
    spend: dict[Purpose, Spend] = field(default_factory=dict)


def due(state: State) -> Iterator[Run]:
    """Yield the runs of which a phase is to be begun now, or was begun and has not ended."""
    return (run for run in state.runs.values() if run.unprepared and not run.over)


def of_project(state: State, project: str) -> Run | None:
    """Return the project's run that makes its task or has made it, and has, with its deployment, not ended."""
    runs = (run for run in reversed(state.runs.values()) if run.order is not None and run.deploy == project)
    return next((run for run in runs if goes_on(state, run)), None)


@reduces(PhaseBegun)
def _begun(state: State, at: float, fact: PhaseBegun) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    again = run.at_phase
    if again is None or again.name != fact.phase:
        return on_run(state, fact.run, phases=(*run.phases, Phase(fact.phase, at)))
    return on_run(state, fact.run, phases=(*run.phases[:-1], replace(again, at=at, times=again.times + 1)))


@reduces(PhaseEnded)
def _ended(state: State, at: float, fact: PhaseEnded) -> State:
    """Note what the phase came to. The task that it names is the run's from now on."""
    run = state.runs.get(fact.run)
    if run is None or not run.phases or run.phases[-1].name != fact.phase:
        return state
    ended = replace(run.phases[-1], result=fact.result, seconds=fact.seconds, spend=fact.spend)
    return on_run(state, fact.run, phases=(*run.phases[:-1], ended), task=fact.result.task or run.task)
