"""Folds the facts of iterations: their steps, what became of them, and what their calls to a model cost."""

from dataclasses import replace
from typing import Any

from msgspec import structs

from kpd.model import events as e
from kpd.model.causes import DeviceChanged, Noise, Superseded
from kpd.model.iteration import Iteration, Remeasure
from kpd.model.lanes import place_in
from kpd.model.reducers import on_iteration, on_run, reduces
from kpd.model.spending import OpenCall, day_of
from kpd.model.state import State
from kpd.model.status import DeviceUse, Done, Stepping


@reduces(e.IterationStarted)
def _iteration_started(state: State, at: float, fact: e.IterationStarted) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    host, device = place_in(run, fact.lane)
    begun = Iteration(
        fact.iteration, fact.agent, fact.parent, started=at, edit=fact.edit, again=fact.again, thorough=fact.thorough,
        confirming=fact.confirming, lane=fact.lane, device=device, host=host,
    )  # fmt: skip
    edit: dict[str, Any] = {"pending_edit": {}, "conflict": None} if fact.edit else {}
    again = run.again if fact.again is None or fact.confirming in ("end", "floor") else run.again[1:]
    return on_run(state, fact.run, iterations=(*run.iterations, begun), again=again, **edit)


@reduces(e.StepStarted)
def _step_started(state: State, at: float, fact: e.StepStarted) -> State:
    return on_iteration(state, fact, status=Stepping(fact.step, at, fact.use, fact.attempt))


def step_over(state: State, fact: e.IterationFact) -> State:
    """Note that the step has ended, so that it no longer uses a device."""
    run = state.runs.get(fact.run)
    found = run.iteration(fact.iteration) if run is not None else None
    if found is None or found.under_way is None or not found.under_way.use:
        return state
    return on_iteration(state, fact, status=structs.replace(found.under_way, use=""))


@reduces(e.TrialStarted, e.Tried)
def _trial(state: State, at: float, fact: e.IterationFact) -> State:
    """Note that the agent's step uses the device while a trial of it runs."""
    run = state.runs.get(fact.run)
    found = run.iteration(fact.iteration) if run is not None else None
    if found is None or found.under_way is None or found.step != "propose":
        return state
    use: DeviceUse = "measures" if isinstance(fact, e.TrialStarted) else "thinks"
    return on_iteration(state, fact, status=structs.replace(found.under_way, use=use))


@reduces(e.Proposed)
def _proposed(state: State, at: float, fact: e.Proposed) -> State:
    of_agent = {"memo": fact.memo, "expected": fact.expected, "point": fact.point, "aims": fact.aims, "tune": fact.tune}
    return on_iteration(state, fact, **of_agent)


@reduces(e.Screened)
def _screened(state: State, at: float, fact: e.Screened) -> State:
    return on_iteration(state, fact, flags=fact.flags)


@reduces(e.Timed)
def _timed(state: State, at: float, fact: e.Timed) -> State:
    return on_iteration(state, fact, score=fact.score, roofline_pct=fact.roofline_pct)


@reduces(e.Judged)
def _judged(state: State, at: float, fact: e.Judged) -> State:
    run = state.runs.get(fact.run)
    found = run.iteration(fact.iteration) if run is not None else None
    flags = (*found.flags, *fact.flags) if found is not None else ()
    return on_iteration(state, fact, verdict=fact.verdict, flags=tuple(dict.fromkeys(flags)))


@reduces(e.Explained)
def _explained(state: State, at: float, fact: e.Explained) -> State:
    rules = tuple(finding.rule for finding in fact.findings)
    return on_iteration(state, fact, bottleneck=fact.bottleneck, rules=rules)


@reduces(e.Faulted)
def _faulted(state: State, at: float, fact: e.Faulted) -> State:
    """Discard what the steps found: that was the faulty candidate's.

    What the agent said of the candidate stays until the agent says something else.
    """
    return on_iteration(
        state, fact, flags=(), score=None, roofline_pct=None, verdict=None, bottleneck="", rules=(), review=""
    )


@reduces(e.IterationEnded)
def _iteration_ended(state: State, at: float, fact: e.IterationEnded) -> State:
    """End the iteration. One that was given up returns the operator's notes that it took: the next one reads them.

    Where a run has several devices, one that won against an incumbent which is none any more is measured again. So is
    one that a change of the kind of device has cut off, whichever device comes.
    """
    held = {"hold": "waits"} if fact.outcome == "held" else {}
    state = on_iteration(state, fact, status=Done(fact.outcome, fact.cause, at, fact.exhausted), **held)
    run = state.runs.get(fact.run)
    if run is not None and run.devices != 1 and isinstance(fact.cause, Superseded) and run.incumbent is not None:
        return on_run(state, fact.run, again=(*run.again, Remeasure(fact.iteration, False, "kpd")))
    it = run.iteration(fact.iteration) if run is not None else None
    if run is not None and it is not None and isinstance(fact.cause, DeviceChanged) and fact.cause.again:
        of = it.number if it.again is None else it.again
        state = on_run(state, fact.run, again=(Remeasure(of, it.thorough, "kpd"), *run.again))
        run = state.runs[fact.run]
    if run is None or fact.outcome not in ("skipped", "interrupted"):
        return state
    lines = (replace(s, consumed_by=None) if s.consumed_by == fact.iteration else s for s in run.steering)
    return on_run(state, fact.run, steering=tuple(lines))


@reduces(e.Accepted)
def _accepted(state: State, at: float, fact: e.Accepted) -> State:
    """Make the iteration the incumbent. A person's decision can be undone until kpd accepts something else.

    A first right candidate that a person accepts is the baseline then.
    """
    run = state.runs.get(fact.run)
    before = run.incumbent if run is not None and fact.override else None
    found = run.iteration(fact.iteration) if run is not None else None
    changes: dict[str, Any] = {"override": fact.override}
    if found is not None and found.hold:
        changes["hold"] = "approved"
    if run is not None and run.sanitizes and found is not None and found.parent != found.number and not found.sanitized:
        changes["provisional"] = True
    ended = found.status if found is not None and isinstance(found.status, Done) else None
    if run is not None and run.baseline is None and found is not None and ended is not None and found.verdict:
        changes["status"] = Done("baseline", Noise(found.verdict.gain), ended.at, ended.exhausted)
    state = on_iteration(state, fact, **changes)
    return on_run(state, fact.run, incumbent=fact.iteration, files=fact.files, before=before)


@reduces(e.GaveWay)
def _gave_way(state: State, at: float, fact: e.GaveWay) -> State:
    return on_run(state, fact.run, incumbent=fact.iteration, files=fact.files, before=None)


@reduces(e.Asked)
def _asked(state: State, at: float, fact: e.Asked) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    call = OpenCall(fact.call, fact.iteration, fact.purpose, fact.model, fact.most_usd)
    return on_run(state, fact.run, asked=max(run.asked, fact.call), calls=(*run.calls, call))


@reduces(e.Billed)
def _billed(state: State, at: float, fact: e.Billed) -> State:
    run = state.runs.get(fact.run)
    found = run.iteration(fact.iteration) if run is not None else None
    if run is None or found is None:
        return state
    state = on_run(state, fact.run, calls=tuple(call for call in run.calls if call.number != fact.call))
    if fact.refused:
        return state
    state = on_iteration(state, fact, spend=found.spend.with_call(fact.usage, fact.usd, not fact.cut))
    state = on_run(state, fact.run, spend=run.spend.with_call(fact.usage, fact.usd, not fact.cut))
    today = state.spent_on(at).with_call(fact.usage, fact.usd, not fact.cut)
    return replace(state, days={**state.days, day_of(at): today})
