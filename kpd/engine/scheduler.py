"""Schedules runs: starts each that can have a device, one run per task, the oldest first."""

import asyncio
import logging
import time
from collections.abc import Collection
from dataclasses import replace
from math import isfinite
from typing import Literal

from kpd.engine.comparing import queue_next
from kpd.engine.ending import break_off
from kpd.engine.further import further_hosts, further_lanes, most_allocations
from kpd.engine.host_pool import HostPool
from kpd.engine.journal import Journal, holding, run_of
from kpd.engine.on_demand import allocation
from kpd.engine.placement import Placement, devices_in_use, fitting_devices, place, wanted_hosts
from kpd.engine.run_loop import RunLoop
from kpd.engine.turns import Turns
from kpd.engine.waiting import set_waiting
from kpd.measure.catalogue import device_of
from kpd.model import events as e
from kpd.model.agents import BASELINE
from kpd.model.causes import DeviceChanged, NotMeasurable, PlugInTrouble
from kpd.model.hosts import DeviceKind, DeviceRef, HostCard, Need
from kpd.model.notices import NewBaseline
from kpd.model.run import Run
from kpd.model.status import Queued
from kpd.model.waits import ForTask, OwnError, Wait
from kpd.workspace.config import Config
from kpd.workspace.entry_points import plug_in_at_fault
from kpd.workspace.paths import Workspace
from kpd.workspace.transports import is_on_demand

log = logging.getLogger(__name__)


class Scheduler:
    """The run loops: each is begun when its run can have a device, and kept until it ends."""

    def __init__(self, workspace: Workspace, config: Config, journal: Journal, pool: HostPool) -> None:
        self.config = config
        self.loops: dict[str, RunLoop] = {}
        self._workspace = workspace
        self._journal = journal
        self._pool = pool
        self.turns = Turns(journal)
        self._tasks: set[asyncio.Task[None]] = set()
        self._work = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None
        self._wanting = False
        self._closing = False
        journal.subscribe(self._heard)

    async def serve(self) -> None:
        """Begin runs as devices become free, until cancelled."""
        while True:
            self._work.clear()
            try:
                with holding(self._journal):
                    self._begin_what_can()
            except Exception as err:  # without this loop the daemon would have to end
                log.exception("runs could not be begun because of an error of kpd's own")
                self._journal.suspend(OwnError(repr(err)))
            await self._work.wait()

    def wake(self) -> None:
        """Look at waiting runs again, because something that they wait for may have changed."""
        self._work.set()
        for loop in self.loops.values():
            loop.wake()
            loop.mind_hours()
        self.turns.look()

    def _heard(self, message: object) -> None:
        """Look for runs to begin when an event shows that a run may leave its device to others."""
        if not isinstance(message, e.Event):
            return
        several = any(loop.run.devices != 1 for loop in self.loops.values())
        if isinstance(message.fact, e.LanesChanged | e.StepStarted | e.IterationEnded) and several:
            self._work.set()
        if not self._wanting:
            return
        match message.fact:
            case e.RunPaused() | e.IterationEnded() | e.StepStarted(use="thinks") | e.Tried():
                self._work.set()
            case e.StepFact(run=run) if run_of(self._journal, run).paused:
                self._work.set()

    def finish(self) -> tuple[str, ...]:
        """Begin nothing more, and interrupt what only waits; return a text for each step that still runs to its end."""
        self._closing = True
        return tuple(step for loop in self.loops.values() for step in loop.finish())

    async def finished(self) -> None:
        """Wait, after `finish`, until nothing is under way any more."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def shut_down(self) -> None:
        """Cancel the steps under way and wait until their processes are gone; the runs are left as they are."""
        self._closing = True
        for loop in self.loops.values():
            loop.interrupt("shutdown", "")
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _begin_what_can(self) -> None:
        state = self._journal.state
        self._wanting = False
        if self._later is not None:
            self._later.cancel()
        if state.held or self._closing:
            self._pool.want((), held=True)
            return
        queue_next(self._workspace, self.config, self._journal)
        state = self._journal.state
        under_way = [loop for loop in self.loops.values() if not (loop.run.paused or loop.run.over)]
        wanted = {lane.place.host for loop in under_way for lane in loop.lanes.values()}
        waiting: list[tuple[Run, Wait, set[str]]] = []
        for run in (*state.begun, *state.queue):  # runs that a former daemon left come first
            if run.id not in self.loops and not run.unprepared:
                found = self._place(run)
                if isinstance(found, Placement):
                    self._begin(run, found)
                    wanted.add(found.host)
                elif found is not None:
                    waiting.append((run, found, asked := wanted_hosts(found, state.hosts, wanted)))
                    wanted |= asked
        for run, found, first in waiting:  # further ones are of what no run lacks for its first device
            asked = wanted_hosts(found, state.hosts, wanted - first, self._most_allocations(run))
            set_waiting(self._journal, run, allocation([self._pool.hosts[name] for name in asked]) or found)
            wanted |= asked
        for loop in tuple(self.loops.values()):
            wanted |= self._mind_lanes(loop, wanted)
        self._pool.want(wanted, held=any(run.paused for run in self._journal.state.begun))
        self._wanting = bool(self._journal.state.queue)
        if self._wanting:
            self._look_again()

    def _look_again(self) -> None:
        """Set a timer for the moment when the next run leaves its device to others."""
        now = time.time()
        until = [at for at in devices_in_use(self._journal.state, now).values() if isfinite(at)]
        if until:
            self._later = asyncio.get_running_loop().call_later(min(until) - now, self._work.set)

    def _place(self, run: Run) -> Placement | Wait | None:
        """Return where the run can go on now, or what it waits for; None when it was just ended instead."""
        # Runs that wait for their host keep their task, too.
        state = self._journal.state
        if run.started is None and (other := state.ahead_of(run)) is not None:
            return ForTask(other.id, run.task, other.paused)
        card = state.tasks.get(run.task)
        if run.started is None and (card is None or card.error):
            break_off(self._journal, run.id, "failed", NotMeasurable(card.error if card else "gone"))
            return None
        kind, need = self._needs(run)
        others = replace(state, runs={other.id: other for other in state.runs.values() if other.id != run.id})
        in_use = devices_in_use(others, time.time())
        return place(run, kind, need, self._cards(), in_use, self._taken(run.id))

    def _needs(self, run: Run) -> tuple[Literal["cpu", "gpu"], Need]:
        """Return what the run's task needs."""
        card = self._journal.state.tasks.get(run.task)
        return (device_of(card.language, card.need), card.need) if card is not None else ("cpu", Need())

    def _most_allocations(self, run: Run) -> int:
        """Return how many allocations of a table the run asks for at once, while it has no device."""
        if run.devices == 1:
            return 1
        kind, need = self._needs(run)
        table = self.config.hosts.get(run.host)
        gpus = getattr(table.options, "gpus", 0) if table is not None and kind == "gpu" else 0
        return most_allocations(run, fitting_devices(run, kind, need, self._cards()), gpus)

    def _cards(self) -> dict[str, HostCard]:
        state = self._journal.state
        return {name: state.hosts[name] for name in self._pool.hosts if name in state.hosts}

    def _taken(self, but: str) -> set[DeviceRef]:
        """Return the devices that runs are bound to, but for those of one."""
        return {place for run in self._journal.state.begun if run.id != but for place in run.lanes.values()}

    def _begin(self, run: Run, where: Placement) -> None:
        card, device = self._pool.card(where.host), where.device
        kind = card.kind_of(device)
        if isinstance(run.status, Queued):
            started = e.RunStarted(
                run.id, device.name, where.host, device.id, card.confinement, kind.driver, kind.clocks
            )  # fmt: skip
            self._journal.emit(started)
        elif not run.device_kind.is_like(kind):
            self._rebase(run, where, kind)
        elif (where.host, device.id) != run.place:
            self._journal.emit(e.RunMoved(run.id, device.name, device.id, where.host))
        set_waiting(self._journal, run_of(self._journal, run.id), None)  # for its device
        places = {0: where, **self._further(run.id, where)}
        loop = RunLoop(self._workspace, lambda: self.config, self._journal, self._pool, places, self.turns, run.id)
        self.loops[run.id] = loop
        task = asyncio.create_task(self._conduct(loop), name=f"conducts {run.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _rebase(self, run: Run, where: Placement, kind: DeviceKind) -> None:
        """Have the run begin a new baseline on another kind of device; what was under way is measured there anew."""
        for it in reversed(run.open):  # the first of them is measured again first
            proposed = it.step not in (None, "propose") or it.again is not None
            again = proposed and not it.confirming and it.agent != BASELINE
            cause = DeviceChanged(kind.name, again)
            self._journal.emit(e.IterationEnded(run.id, it.number, "infra" if again else "interrupted", cause))
        rebased = e.RunRebased(run.id, kind.name, where.device.id, where.host, kind.driver, kind.clocks)
        self._journal.emit(rebased)
        best = run.incumbent if run.baseline is not None and run.incumbent != run.baseline.number else None
        self._journal.emit(e.Noticed("warning", NewBaseline(run.id, run.device_kind, kind, best)))

    def _further(self, run_id: str, first: Placement) -> dict[int, Placement]:
        """Take the further devices that the run wants, and that are free."""
        run = run_of(self._journal, run_id)
        if run.devices == 1:
            return {}
        here = {0: (first.host, first.device.id)}
        found = further_lanes(run, first, here, self._cards(), self._taken(run_id))
        ids, hosts = tuple(one.device.id for one in found.values()), tuple(one.host for one in found.values())
        self._journal.emit(e.DevicesTaken(run_id, ids, hosts))
        return found

    def _mind_lanes(self, loop: RunLoop, others: Collection[str]) -> set[str]:
        """Have lanes leave allocations that have ended, and begin where one has; return the hosts to ask for."""
        run, hosts = loop.run, self._pool.hosts
        there = [at for _, lane in sorted(loop.lanes.items()) if hosts.get((at := lane.place).host) is lane.host]
        if run.devices == 1 or run.paused or run.over or loop.ends or not there:
            return set()
        first = there[0]
        if not is_on_demand(hosts[first.host].transport.kind):
            return set()
        loop.leave([number for number, lane in loop.lanes.items() if lane.is_stranded])
        found = further_lanes(run, first, run.lanes, self._cards(), self._taken(run.id))
        if (moved := found.get(0)) is not None:
            self._journal.emit(e.RunMoved(run.id, moved.device.name, moved.device.id, moved.host))
        if found:
            places = dict(enumerate(run.places)) | {lane: (at.host, at.device.id) for lane, at in found.items()}
            more = tuple(places[lane] for lane in range(1, len(places)))
            self._journal.emit(e.LanesChanged(run.id, more, tuple(lane for lane in run.away if lane not in found)))
            loop.join(found)
        return further_hosts(loop.run, first.device, self._cards(), others, self._journal.state.direction(run))

    async def _conduct(self, loop: RunLoop) -> None:
        try:
            with holding(self._journal):
                await loop.execute()
        except Exception as err:  # whatever it is, the daemon and its log stay available to the operator
            if plug_in := plug_in_at_fault(err.__traceback__):
                log.exception("%s was ended by an error of the plug-in %s", loop.run_id, plug_in)
                with holding(self._journal):
                    break_off(
                        self._journal,
                        loop.run_id,
                        "failed",
                        PlugInTrouble(f"the plug-in {plug_in} failed: {err!r}"),
                    )
                return
            log.exception("%s was interrupted by an error of kpd's own", loop.run_id)
            self._journal.suspend(OwnError(repr(err), loop.run_id))
        finally:
            del self.loops[loop.run_id]
            if run_of(self._journal, loop.run_id).over:
                for host in loop.hosts:
                    self._pool.end_leftovers(host)
                self._pool.use(self.config.hosts)  # changes of the config made while the run used its host
            self.wake()
