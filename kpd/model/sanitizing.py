"""Defines the facts of the last checks of accepted candidates, which run beside the run."""

from dataclasses import dataclass
from typing import Any

from kpd.model.fact import IterationFact, RunFact
from kpd.model.faults import CandidateFault, outcome_of
from kpd.model.reducers import on_iteration, on_run, reduces
from kpd.model.sanitizer import ToolReport, passed
from kpd.model.state import State
from kpd.model.status import Done


@dataclass(frozen=True, slots=True)
class SanitizerFound(RunFact):
    """Whether the run's winners are provisional until their last checks: its host has the tools."""

    present: bool


@dataclass(frozen=True, slots=True)
class Sanitized(IterationFact):
    """The end of the last checks of an accepted candidate; with `fault` the acceptance does not hold."""

    reports: tuple[ToolReport, ...]
    fault: CandidateFault | None = None


@reduces(SanitizerFound)
def _found(state: State, at: float, fact: SanitizerFound) -> State:
    return on_run(state, fact.run, sanitizes=fact.present)


@reduces(Sanitized)
def _sanitized(state: State, at: float, fact: Sanitized) -> State:
    """Keep the reports. An acceptance of which the tool that decides has not seen every case stays provisional."""
    run = state.runs.get(fact.run)
    it = run.iteration(fact.iteration) if run is not None else None
    unseen = fact.fault is None and not passed(fact.reports)
    changes: dict[str, Any] = {"sanitized": fact.reports, "provisional": unseen}
    if fact.fault is not None and it is not None and isinstance(it.status, Done):
        ended = it.status
        changes["status"] = Done(outcome_of(fact.fault), fact.fault, ended.at, ended.exhausted)
    return on_iteration(state, fact, **changes)
