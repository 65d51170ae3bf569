"""Registers the reducers (the functions that fold one kind of fact into the state), and holds what they share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from kpd.model.fact import Fact, IterationFact
from kpd.model.notices import Notice
from kpd.model.state import State

F = TypeVar("F", bound=Fact)
Reducer = Callable[[State, float, Any], State]
REDUCERS: dict[type[Fact], Reducer] = {}
NOTICES_KEPT = 50


def reduces(*facts: type[F]) -> Callable[[Callable[[State, float, F], State]], Callable[[State, float, F], State]]:
    def register(folder: Callable[[State, float, F], State]) -> Callable[[State, float, F], State]:
        for fact in facts:
            REDUCERS[fact] = folder
        return folder

    return register


def with_notice(state: State, notice: Notice) -> State:
    return replace(state, notices=(*state.notices, notice)[-NOTICES_KEPT:])


def on_run(state: State, run_id: str, **changes: Any) -> State:
    run = state.runs.get(run_id)
    return state if run is None else replace(state, runs={**state.runs, run_id: replace(run, **changes)})


def on_iteration(state: State, fact: IterationFact, **changes: Any) -> State:
    run = state.runs.get(fact.run)
    if run is None or (found := run.iteration(fact.iteration)) is None:
        return state
    at = run.iterations.index(found) if run.iterations[-1] is not found else len(run.iterations) - 1
    changed = (*run.iterations[:at], replace(found, **changes), *run.iterations[at + 1 :])
    return on_run(state, fact.run, iterations=changed)
