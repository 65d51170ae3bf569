"""Sums how much of the time of steps was kpd's own work, by host and device."""

from dataclasses import replace

from kpd.model.fact import StepFact
from kpd.model.state import Overhead, State


def counted(state: State, fact: StepFact) -> State:
    """Return the state with a finished step in the sums of the device that its iteration is on."""
    run = state.runs.get(fact.run)
    it = run.iteration(fact.iteration) if run is not None else None
    if run is None or it is None or not it.device:
        return state
    of_host = state.overheads.get(it.host, {})
    known = of_host.get(it.device, Overhead())
    now = Overhead(known.steps + 1, known.seconds + fact.seconds, known.own_s + fact.overhead_s)
    return replace(state, overheads={**state.overheads, it.host: {**of_host, it.device: now}})
