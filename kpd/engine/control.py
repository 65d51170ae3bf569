"""Controls an active run for an operator: pause between steps, skip an iteration, stop now, end after the step."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from kpd.engine.journal import Journal, run_of
from kpd.model.status import Running

T = TypeVar("T")
Interruption = Literal["skip", "stop", "shutdown"]


class Interrupted(Exception):
    """The step under way was cancelled on purpose; `how` says which command did it."""

    def __init__(self, how: Interruption, by: str) -> None:
        super().__init__(how, by)
        self.how = how
        self.by = by


class Control:
    """The operator's hand on one run. Every pause lives in the event log; this only wakes those who wait for it."""

    def __init__(self, journal: Journal, run: str) -> None:
        self._journal = journal
        self._run = run
        self._changed = asyncio.Event()
        self._task: asyncio.Future[Any] | None = None
        self._wanted: Interrupted | None = None
        self.in_step = False
        self._finishing = False

    def wake(self) -> None:
        """Something that a waiting run looks at has changed."""
        self._changed.set()

    def interrupt(self, how: Interruption, by: str) -> None:
        """Cancel the step under way; its process group is killed by whoever awaits the job."""
        self._wanted = Interrupted(how, by)
        if self._task is not None:
            self._task.cancel()
        self.wake()

    def finish(self) -> None:
        """The daemon is to end: the step under way may come to its end, unless all it does is wait; nothing follows."""
        self._finishing = True
        if not self.in_step or run_of(self._journal, self._run).waiting:
            self.interrupt("shutdown", "")
        self.wake()

    @contextmanager
    def step(self) -> Iterator[None]:
        """A step is under way, which `finish` leaves alone."""
        self.in_step = True
        try:
            yield
        finally:
            self.in_step = False

    async def checkpoint(self) -> None:
        """Between steps: raise what was asked for, wait while the run is paused or the queue is held."""
        self._raise_wanted()
        if self._finishing:
            raise Interrupted("shutdown", "")
        await self.ready()

    async def ready(self) -> None:
        """Within a step, before what costs money: the same, but that a step may go on while the daemon finishes it."""
        await self.wait_until(lambda: isinstance(run_of(self._journal, self._run).status, Running) and not self._held())

    async def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait, without polling, until `ready()` or an interruption."""
        while True:
            self._raise_wanted()
            if ready():
                return
            if self._finishing:
                raise Interrupted("shutdown", "")
            self._changed.clear()
            await self._changed.wait()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` so that `interrupt` cancels it and surfaces here as Interrupted."""
        task = asyncio.ensure_future(work)
        self._task = task
        try:
            return await task
        except asyncio.CancelledError:
            self._raise_wanted()
            raise
        finally:
            self._task = None

    async def rest(self, seconds: float) -> None:
        """So long, or until an interruption, which is raised."""
        await self.run(asyncio.sleep(seconds))

    def _held(self) -> bool:
        return bool(self._journal.state.held)

    def _raise_wanted(self) -> None:
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            raise wanted
