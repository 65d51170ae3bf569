"""The pure fold: `fold(state, event)` is the only way a `State` changes."""

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from kpd.model import (
    acts,
    comparisons,
    deploying,
    events as e,
    iterating,
    overhead,
    preparing,
    rebasing,
    sanitizing,
    sessions,
    tools,
)
from kpd.model.lanes import lane_of, waits_in
from kpd.model.notices import Finishing, Idle, Notice, SettingsRead, SettingsRefused, Stalled
from kpd.model.reducers import REDUCERS, on_run, reduces, with_notice
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Ended, Paused, Running
from kpd.model.waits import Wait

_BESIDES = (acts, comparisons, deploying, iterating, preparing, rebasing, sanitizing, sessions, tools)
"""Modules that register their reducers when they are imported."""


def fold(state: State, event: e.Event) -> State:
    """Return the state after `event`. An event the state has already seen changes nothing."""
    if event.seq <= state.seq:
        return state
    folder = REDUCERS.get(type(event.fact))
    after = folder(state, event.at, event.fact) if folder else state
    if isinstance(event.fact, e.StepFact | e.Faulted | e.IterationEnded):
        after = iterating.step_over(after, event.fact)
    if isinstance(event.fact, e.StepFact):
        after = overhead.counted(after, event.fact)
    return replace(after, seq=event.seq, at=event.at)


def fold_all(events: Iterable[e.Event], state: State | None = None) -> State:
    state = state or State()
    for event in events:
        state = fold(state, event)
    return state


# ── the daemon and the workspace ──────────────────────────────────────────────────────────────────────────────────


@reduces(e.DaemonStarted)
def _daemon_started(state: State, at: float, fact: e.DaemonStarted) -> State:
    notices = _without(state, SettingsRefused, Finishing)  # a daemon that started has read config.toml
    return replace(state, version=fact.version, pid=fact.pid, workspace=fact.workspace, notices=notices)


@reduces(e.DaemonStopped)
def _daemon_stopped(state: State, at: float, fact: e.DaemonStopped) -> State:
    return replace(state, pid=None)


@reduces(e.Noticed)
def _noticed(state: State, at: float, fact: e.Noticed) -> State:
    if isinstance(fact.about, SettingsRead):  # whatever was wrong with config.toml is mended
        state = replace(state, notices=_without(state, SettingsRefused))
    return with_notice(state, Notice(at, fact.level, fact.about))


def _without(state: State, *kinds: type) -> tuple[Notice, ...]:
    return tuple(notice for notice in state.notices if not isinstance(notice.about, kinds))


@reduces(e.DeviceIdle)
def _device_idle(state: State, at: float, fact: e.DeviceIdle) -> State:
    idle = Idle(fact.host, fact.device, fact.seconds, fact.runs, fact.keeps)
    return with_notice(state, Notice(at, "warning", idle))


@reduces(e.StepStalled)
def _step_stalled(state: State, at: float, fact: e.StepStalled) -> State:
    stalled = Stalled(fact.run, fact.iteration, fact.step, fact.seconds, fact.usual_s)
    return with_notice(state, Notice(at, "warning", stalled))


@reduces(e.TaskLoaded)
def _task_loaded(state: State, at: float, fact: e.TaskLoaded) -> State:
    return replace(state, tasks={**state.tasks, fact.card.name: fact.card})


@reduces(e.TaskRemoved)
def _task_removed(state: State, at: float, fact: e.TaskRemoved) -> State:
    return replace(state, tasks={name: card for name, card in state.tasks.items() if name != fact.task})


@reduces(e.HostProbed)
def _host_probed(state: State, at: float, fact: e.HostProbed) -> State:
    return replace(state, hosts={**state.hosts, fact.card.name: fact.card})


@reduces(e.HostRemoved)
def _host_removed(state: State, at: float, fact: e.HostRemoved) -> State:
    return replace(state, hosts={name: card for name, card in state.hosts.items() if name != fact.host})


@reduces(e.QueueHeld)
def _queue_held(state: State, at: float, fact: e.QueueHeld) -> State:
    return replace(state, held=fact.hold)


@reduces(e.QueueReleased)
def _queue_released(state: State, at: float, fact: e.QueueReleased) -> State:
    return replace(state, held=None)


@reduces(e.PlaybackChanged)
def _playback_changed(state: State, at: float, fact: e.PlaybackChanged) -> State:
    return replace(state, playback=fact.playback)


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@reduces(e.RunQueued)
def _run_queued(state: State, at: float, fact: e.RunQueued) -> State:
    run = Run(
        fact.run, fact.task, fact.agent, fact.host, fact.budget, at, approve=fact.approve, traits=fact.traits,
        evolve=fact.evolve, compared=fact.compared, task_state=fact.task_state,
        task_text=fact.task_text, apart=fact.apart, devices=fact.devices, deploy=fact.deploy, order=fact.order,
    )  # fmt: skip
    return replace(state, runs={**state.runs, fact.run: run})


@reduces(e.RunStarted)
def _run_started(state: State, at: float, fact: e.RunStarted) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    place = {"host": fact.host or run.host, "device": fact.device, "device_id": fact.device_id, "driver": fact.driver}
    place["clocks"] = fact.clocks
    started = at if run.started is None else run.started
    clock = at if run.clock is None else run.clock
    confinement = run.confinement or fact.confinement
    return on_run(state, fact.run, status=Running(), started=started, clock=clock, confinement=confinement, **place)


@reduces(e.DevicesTaken)
def _devices_taken(state: State, at: float, fact: e.DevicesTaken) -> State:
    """Note the lanes. What a former daemon's lanes waited for is over."""
    run = state.runs.get(fact.run)
    if run is None:
        return state
    hosts = *fact.hosts, *[run.host] * len(fact.more)  # older logs name none
    return _with_lanes(state, replace(run, lane_waits={}, more=tuple(zip(hosts, fact.more, strict=False)), away=()))


@reduces(e.LanesChanged)
def _lanes_changed(state: State, at: float, fact: e.LanesChanged) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    waits = {lane: wait for lane, wait in run.lane_waits.items() if lane not in fact.away}
    run = replace(run, lane_waits=waits, more=fact.more, away=fact.away)
    if 0 in run.lanes or not run.lanes or isinstance(run.status, Ended):
        return _with_lanes(state, run)
    return _with_lanes(state, replace(run, status=structs.replace(run.status, wait=None)))


@reduces(e.RunMoved)
def _run_moved(state: State, at: float, fact: e.RunMoved) -> State:
    run = state.runs.get(fact.run)
    if run is None:
        return state
    return _with_lanes(state, replace(run, host=fact.host or run.host, device_id=fact.device_id))


def _with_lanes(state: State, run: Run) -> State:
    """Have each iteration under way in a lane that is there, on its device: those of others go on in the first one."""
    placed = []
    for it in run.iterations:
        lane = lane_of(run, it)
        here = run.lanes.get(lane)
        if it.outcome is None and it.verdict is None and here is not None:
            it = replace(it, host=here[0], device=here[1])
        placed.append(replace(it, lane=lane) if it.outcome is None else it)
    return replace(state, runs={**state.runs, run.id: replace(run, iterations=tuple(placed))})


@reduces(e.DeadlinePassed)
def _deadline_passed(state: State, at: float, fact: e.DeadlinePassed) -> State:
    return on_run(state, fact.run, late=True, gpus_used=fact.gpus)


@reduces(e.RunWaits)
def _run_waits(state: State, at: float, fact: e.RunWaits) -> State:
    run = state.runs.get(fact.run)
    if run is None or isinstance(run.status, Ended):
        return state
    if fact.lane:
        others = {lane: wait for lane, wait in run.lane_waits.items() if lane != fact.lane}
        return on_run(state, fact.run, lane_waits=others if fact.wait is None else {**others, fact.lane: fact.wait})
    return on_run(state, fact.run, status=structs.replace(run.status, wait=fact.wait))


@reduces(e.RunPaused)
def _run_paused(state: State, at: float, fact: e.RunPaused) -> State:
    # A person's pause lets the step under way go on, with what it waits for.
    wait = None if fact.infra else _waiting(state, fact.run)
    return on_run(state, fact.run, status=Paused(fact.cause, fact.infra, wait))


@reduces(e.RunResumed)
def _run_resumed(state: State, at: float, fact: e.RunResumed) -> State:
    return on_run(state, fact.run, status=Running(_waiting(state, fact.run)))


@reduces(e.RunEnded)
def _run_ended(state: State, at: float, fact: e.RunEnded) -> State:
    """End the run. What it was still to measure is forgotten: a later wish does not bring it back."""
    return on_run(state, fact.run, status=Ended(fact.outcome, fact.cause, at), reopened=None, again=(), lane_waits={})


def _waiting(state: State, run_id: str) -> Wait | None:
    run = state.runs.get(run_id)
    return waits_in(run, 0) if run is not None else None


@reduces(e.OperatorEdited)
def _operator_edited(state: State, at: float, fact: e.OperatorEdited) -> State:
    return on_run(state, fact.run, pending_edit=fact.files, folder=fact.files, conflict=fact.conflict)


@reduces(e.TaskPinned)
def _task_pinned(state: State, at: float, fact: e.TaskPinned) -> State:
    return on_run(
        state, fact.run, pinned=fact.protected, folder=fact.editable, unchecked=fact.unchecked, own_files=fact.own_files
    )


@reduces(e.FolderKnown)
def _folder_known(state: State, at: float, fact: e.FolderKnown) -> State:
    return on_run(state, fact.run, folder=fact.files, pending_edit={}, conflict=None)


@reduces(e.BaselineStale)
def _baseline_stale(state: State, at: float, fact: e.BaselineStale) -> State:
    return on_run(state, fact.run, stale=fact.files)
