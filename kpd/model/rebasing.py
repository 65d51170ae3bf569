"""Folds that a run goes on with another kind of device: it begins a new baseline there, and compares nothing."""

from dataclasses import replace

from kpd.model import events as e
from kpd.model.hosts import FormerKind
from kpd.model.iteration import Remeasure
from kpd.model.reducers import reduces
from kpd.model.run import Run
from kpd.model.state import State


@reduces(e.RunRebased)
def _run_rebased(state: State, at: float, fact: e.RunRebased) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    rebased = replace(
        run, host=fact.host, device=fact.device, device_id=fact.device_id, driver=fact.driver, clocks=fact.clocks,
        since=run.iterations[-1].number + 1 if run.iterations else 0,
        former=(*run.former, FormerKind(run.device_kind, run.since, run.incumbent)),
        again=(*(Remeasure(number, False, "kpd") for number in _measured_anew(run)), *run.again),
        incumbent=None, before=None, more=(), away=(), lane_waits={},
    )  # fmt: skip
    return replace(state, runs={**state.runs, run.id: rebased})


def _measured_anew(run: Run) -> list[int]:
    """Return what is measured on the new kind before all that waits for that already: the incumbent so far.

    Before it comes the task's own baseline; where its files were not right, the first right candidate.
    """
    first = run.baseline.number if run.baseline is not None else None
    found = [first, run.incumbent] if run.own_files != "right" else [run.incumbent if run.incumbent != first else None]
    return [number for number in dict.fromkeys(found) if number is not None]
