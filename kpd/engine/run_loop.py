"""Executes one run: each of its devices is a lane, which iterates until the plan says that the run is over."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from kpd.engine import plan
from kpd.engine.control import Interrupted, Interruption
from kpd.engine.ending import break_off, report_end
from kpd.engine.host_pool import HostPool
from kpd.engine.host_trouble import RunRestart
from kpd.engine.journal import Journal, holding, run_of
from kpd.engine.lane import Lane
from kpd.engine.placement import Placement
from kpd.engine.turns import Turns
from kpd.hosts.errors import HostError
from kpd.hosts.gpu_hours import GpuHours, hours_file
from kpd.hosts.shares import by_run
from kpd.measure.compiling import BuildError
from kpd.model import events as e
from kpd.model.causes import NotMeasurable, PlugInTrouble, RunCause, Stopped
from kpd.model.lanes import current_in, first_lane, lane_of, waits_in
from kpd.model.run import Run
from kpd.model.status import RunOutcome
from kpd.workspace.config import Config
from kpd.workspace.entry_points import PlugInError
from kpd.workspace.paths import Workspace
from kpd.workspace.task import TaskError
from kpd.workspace.transports import is_on_demand

LOOK_S = 30.0
"""How often a run with a limit in GPU hours looks at its share of the allocations."""
log = logging.getLogger(__name__)


class RunLoop:
    """A run while it is under way: its lanes, and the hours of its budget."""

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Config], journal: Journal, pool: HostPool,
        places: Mapping[int, Placement], turns: Turns, run_id: str,
    ) -> None:  # fmt: skip
        self.workspace = workspace
        self.journal = journal
        self.hosts: set[str] = set()  # all that it has used
        self.run_id = run_id
        self.lanes: dict[int, Lane] = {}
        self._make = partial(Lane, workspace, settings, journal, pool)
        self._turns = turns
        self._under_way: dict[asyncio.Task[None], Lane] = {}
        self._ended: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()
        self._left: set[int] = set()  # lanes that are to leave their host
        self._take(places)
        self.ends = False  # no lane begins any more
        self.over = asyncio.Event()
        self._hours: asyncio.TimerHandle | None = None
        self._gpu_hours: asyncio.TimerHandle | None = None

    @property
    def run(self) -> Run:
        return run_of(self.journal, self.run_id)

    async def execute(self) -> None:
        """Execute the run until it ends, has to be restarted, or is left to the next daemon. Raises JournalError."""
        self.mind_hours()
        try:
            await (self.lanes[0].execute() if self.run.devices == 1 else self._all_lanes())
        except Interrupted as interrupted:
            if interrupted.how == "skip":
                self.lanes[first_lane(self.run)].give_up(interrupted)
            if interrupted.how == "stop":
                self._break_off("stopped", Stopped(interrupted.by))
        except RunRestart:
            return
        except (TaskError, BuildError) as err:
            self._break_off("failed", NotMeasurable(str(err)))
        except PlugInError as err:
            self._break_off("failed", PlugInTrouble(str(err)))
        finally:
            try:
                for lane in self.lanes.values():
                    await lane.let_go()
            finally:
                self._forget_hours()
                self.over.set()

    def leave(self, lanes: Collection[int]) -> None:
        """Have lanes leave a host that was taken away: what is under way there goes on in the others."""
        for number in lanes:
            if number not in self._left:
                self._left.add(number)
                self.lanes[number].control.interrupt("shutdown", "")

    def join(self, places: Mapping[int, Placement]) -> None:
        """Begin further lanes on these devices, of which the log has the numbers already."""
        self._take(places)
        self._begin(places)

    def _take(self, places: Mapping[int, Placement]) -> None:
        for number, place in places.items():
            self.hosts.add(place.host)
            self.lanes[number] = self._make(place, self._turns, self.run_id, number)

    def _begin(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            lane = self.lanes[number]
            task = asyncio.create_task(lane.execute(), name=f"{self.run_id} lane {number}")
            self._under_way[task] = lane
            task.add_done_callback(self._ended.put_nowait)

    async def _all_lanes(self) -> None:
        """Execute all lanes until one ends for good: it has ended the run, or what it raises concerns all."""
        end = self.journal.subscribe(self._heard)
        self._begin(tuple(self.lanes))
        try:
            while await self._goes_on_without(ended := await self._ended.get()):
                pass
        finally:  # also where the log cannot be written
            self.ends = True
            self.interrupt("shutdown", "")
            await asyncio.gather(*self._under_way, return_exceptions=True)  # so asyncio logs none of their errors
            end()
        for err in [task.exception() for task in (ended, *self._under_way)]:
            if err is not None and not (self.run.over and isinstance(err, Interrupted)):
                raise err

    async def _goes_on_without(self, ended: asyncio.Task[None]) -> bool:
        """Return whether others go on, and with what the lane was at, as it has ended with its allocation."""
        lane, err = self._under_way[ended], ended.exception()
        left = isinstance(err, Interrupted) and err.how == "shutdown" and lane.number in self._left
        lent = is_on_demand(lane.host.transport.kind)
        if not (left or (lent and isinstance(err, RunRestart))) or len(self.lanes) == 1:
            return False
        self._left.discard(lane.number)
        del self._under_way[ended], self.lanes[lane.number]
        await lane.let_go()
        away = tuple(number for number in range(len(self.run.places)) if number not in self.lanes)
        self.journal.emit(e.LanesChanged(self.run_id, self.run.more, away))
        return True

    def _heard(self, message: object) -> None:
        """Wake the lanes that wait for what others have just found, or leave behind."""
        match message:
            case e.Event(fact=e.Proposed(run=run) | e.IterationEnded(run=run) | e.Sanitized(run=run)):
                if run == self.run_id:
                    self.wake()
            case e.Event(fact=e.LanesChanged(run=run) | e.StepStarted(run=run, step="check")):
                if run == self.run_id:
                    self.wake()

    def wake(self) -> None:
        """Wake what waits, because something that it waits for may have changed."""
        for lane in self.lanes.values():
            lane.control.wake()

    def interrupt(self, how: Interruption, by: str, number: int | None = None) -> None:
        """Cancel the steps under way: all of them, or only that of one iteration. Unknown ones are the first lane's."""
        it = self.run.iteration(number) if number is not None else None
        for lane in self.lanes.values():
            if number is None or lane.number == (lane_of(self.run, it) if it is not None else first_lane(self.run)):
                lane.control.interrupt(how, by)

    def finish(self) -> tuple[str, ...]:
        """Begin nothing more, and interrupt what only waits; return a text for each step that still runs to its end."""
        left = []
        for lane in self.lanes.values():
            lane.control.finish()
            it = current_in(self.run, lane.number)
            if lane.control.in_step and not waits_in(self.run, lane.number) and it is not None:
                left.append(f"the step {it.step} of {self.run_id}.{it.number}")
        return tuple(left)

    def mind_hours(self) -> None:
        """Set the timer for the moment when the hours of the run's budget are used; they may have changed."""
        self._forget_hours()
        loop, run = asyncio.get_running_loop(), self.run
        if (at := run.deadline) is not None:
            self._hours = loop.call_later(max(at - time.time(), 0.0), self._hours_used)
        if run.budget.gpu_hours and run.begun and not run.late:
            self._gpu_hours = loop.call_later(min(max(self._gpu_hours_last_s(), 0.0), LOOK_S), self._look_at_gpu_hours)

    def _gpu_hours_last_s(self) -> float:
        """Return for how many seconds the GPU hours of the run's budget will last at least."""
        try:
            lent = GpuHours(hours_file(self.workspace)).read()
        except HostError as err:
            log.warning("%s: whether its GPU hours are used is not known: %s", self.run_id, err)
            return LOOK_S
        used = by_run(lent, self.journal.state.runs.values(), time.time()).get(self.run_id, 0.0)
        gpus = sum(max((one.gpus for one in lent if one.host == host), default=1) for host in self.hosts)
        return 3600 * (self.run.budget.gpu_hours - used) / max(gpus, 1)

    def _look_at_gpu_hours(self) -> None:
        """Have the run end as at the end of its hours, once its share of the allocations is used."""
        if self._gpu_hours_last_s() <= 0:
            self._hours_used(gpus=True)
        else:
            self.mind_hours()

    def _forget_hours(self) -> None:
        for timer in (self._hours, self._gpu_hours):
            if timer is not None:
                timer.cancel()

    def _hours_used(self, gpus: bool = False) -> None:
        """Give up what an agent is at; what is the operator's, or a contest that a result needs, is finished."""
        with holding(self.journal):
            self.journal.emit(e.DeadlinePassed(self.run_id, gpus))
        on_a_tool = plan.on_a_tool(self.run) is not None
        for lane in self.lanes.values():
            it = current_in(self.run, lane.number)
            of_agent = it is not None and not self.run.trait(it.agent).operators
            if of_agent or (on_a_tool and lane.number == first_lane(self.run)):
                lane.control.interrupt("skip", f"the budget's {'GPU ' if gpus else ''}hours")
        self.wake()

    def _break_off(self, outcome: RunOutcome, cause: RunCause) -> None:
        break_off(self.journal, self.run_id, outcome, cause)
        report_end(self.workspace, self.journal, self.run_id)
