"""Detects work that could go on but does not: idle devices, and steps that take far too long.

It needs only the state, and when a standstill was first seen by the caller's clock: nothing here waits.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median

from kpd.engine import plan
from kpd.engine.journal import Journal
from kpd.engine.placement import fitting_devices
from kpd.measure.catalogue import device_of
from kpd.model import events as e
from kpd.model.hosts import DeviceRef
from kpd.model.iteration import Iteration
from kpd.model.lanes import current_in, lane_of, measures_in, waits_in
from kpd.model.notices import HostDown, IdleReason, NotBegun, QueueIsHeld
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Paused, Running, StepName
from kpd.model.waits import PausedBy

STALL_TIMES = 10.0
LEAST_STALL_S = 600.0
"""A step has stalled after STALL_TIMES its usual time, but never before LEAST_STALL_S."""
GAP_S = 150.0
"""A standstill that is not seen for so long is over. A run that retries a busy device still counts as waiting."""

Key = tuple[str, ...]
Usual = Callable[[str, StepName], float | None]
"""The seconds that a step of a run usually takes; None where it has not been taken yet."""


@dataclass(slots=True)
class IdleDeviceWork:
    """A device that nothing is measured on. `cause` stays the same when only the seconds in `keeps` differ."""

    host: str
    device: str
    device_id: str
    cause: str
    keeps: IdleReason
    runs: list[str] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return "idle", self.host, self.device_id, self.cause


def idle_devices(state: State) -> list[IdleDeviceWork]:
    """Find the devices on which nothing is measured although there is work for them."""
    found: dict[DeviceRef, IdleDeviceWork] = {}
    used = set()
    thinks: dict[DeviceRef, float] = {}  # devices where runs think: when the last of them began to
    for run in state.begun:
        for lane, place in run.lanes.items():
            cause, keeps = _kept_by(state, run, lane)
            it = current_in(run, lane)
            now = it.under_way if it is not None else None
            if keeps is not None:
                one = found.setdefault(place, IdleDeviceWork(place[0], run.device, place[1], cause, keeps))
                one.runs += [run.id] if run.id not in one.runs else []
            elif now is not None and now.use == "thinks" and isinstance(run.status, Running):
                thinks[place] = max(now.since, thinks.get(place, 0.0))
            elif not _left(state, run, lane):
                used.add(place)
    for run in state.queue:
        card = state.tasks.get(run.task)
        if state.ahead_of(run) is not None or card is None or card.error or run.unprepared:
            continue
        for host, device in fitting_devices(run, device_of(card.language, card.need), card.need, state.hosts):
            place = host, device.id
            keeps = _held(state) or run.waiting or _down(state, host) or NotBegun(run.id)
            since = f" while others think since {thinks[place]}" if place in thinks else ""
            cause = "held" if state.held else f"queued{since}"
            found.setdefault(place, IdleDeviceWork(host, device.name, device.id, cause, keeps)).runs.append(run.id)
    return [one for place, one in found.items() if place not in used]


def _left(state: State, run: Run, lane: int) -> bool:
    """Return whether a run has nothing to do on a device: it is paused, or waits for an edit, or for other lanes."""
    if run.paused:
        return not measures_in(run, lane)
    return isinstance(plan.next_action(run, state.direction(run), lane), plan.Wait)


def _kept_by(state: State, run: Run, lane: int) -> tuple[str, IdleReason | None]:
    """Return a short name and the reason for what keeps a run that has begun from going on in a lane.

    The reason is None when the run goes on, and when a person has paused it, as that person knows.
    """
    if state.held:
        return "held", _held(state)
    match run.status:
        case Paused(cause=PausedBy()) | Paused(infra=False):
            return f"{run.id} paused", None
        case Paused(cause=cause):
            return f"{run.id} paused", cause
    return f"{run.id} waits", waits_in(run, lane)


def _held(state: State) -> QueueIsHeld | None:
    return QueueIsHeld(state.held) if state.held else None


def _down(state: State, host: str) -> HostDown | None:
    error = state.hosts[host].error
    return HostDown(error) if error else None


def steps_under_way(state: State) -> Iterator[tuple[Run, Iteration, Key]]:
    """Yield the iterations with a step under way, each with its run and a key that identifies the step."""
    for run in state.begun:
        for it in run.open if isinstance(run.status, Running) and not state.held else ():
            now = it.under_way
            if now is not None and now.step is not None and not waits_in(run, lane_of(run, it)):
                yield run, it, ("step", run.id, str(it.number), str(now.attempt), now.step)


class Watchdog:
    """A reporter of standstills. Each is told once, and again only after it was over."""

    def __init__(self) -> None:
        self._since: dict[Key, float] = {}
        self._seen: dict[Key, float] = {}
        self._told: set[Key] = set()
        self._usual: dict[Key, float | None] = {}

    def look(self, state: State, at: float, idle_s: float, usual: Usual) -> list[e.DeviceIdle | e.StepStalled]:
        """Return what a person should know now and was not told yet.

        `at` is a time in seconds. A device is reported after `idle_s` seconds; with 0 none is.
        """
        devices = {one.key: one for one in idle_devices(state)} if idle_s else {}
        steps = {key: (run, it) for run, it, key in steps_under_way(state)}
        self._note((*devices, *steps), at)
        news: list[e.DeviceIdle | e.StepStalled] = []
        for key, one in devices.items():
            lasted = at - self._since[key]
            if lasted >= idle_s and self._first(key):
                runs = tuple(one.runs)
                news.append(e.DeviceIdle(one.host, one.device, one.device_id, lasted, runs, one.keeps))
        for key, (run, it) in steps.items():
            lasted = at - self._since[key]
            if it.step is None or lasted < LEAST_STALL_S or key in self._told:
                continue
            if key not in self._usual:  # read once: while the step is under way no other of its kind is taken
                self._usual[key] = usual(run.id, it.step)
            usually = self._usual[key]
            if lasted > STALL_TIMES * (usually or 0.0) and self._first(key):
                news.append(e.StepStalled(run.id, it.number, it.step, lasted, usually))
        return news

    def _note(self, present: tuple[Key, ...], at: float) -> None:
        for key in present:
            self._since.setdefault(key, at)
            self._seen[key] = at
        for key in [key for key, seen in self._seen.items() if at - seen > GAP_S]:
            del self._since[key], self._seen[key]
            self._told.discard(key)
            self._usual.pop(key, None)

    def _first(self, key: Key) -> bool:
        """Return whether the standstill has not been told yet, and mark it as told."""
        if key in self._told:
            return False
        self._told.add(key)
        return True


def usual_s(journal: Journal, run: str, step: StepName) -> float | None:
    """Compute the median time of the step in the run so far, in seconds; None if it was not taken yet.

    Raises JournalError.
    """
    facts = (event.fact for event in journal.events(run))
    taken = [fact.seconds for fact in facts if isinstance(fact, e.StepFact) and e.STEP_OF[type(fact)] == step]
    return median(taken) if taken else None
