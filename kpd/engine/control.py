"""Controls an active run for an operator: pause between steps, skip an iteration, stop now, finish the current step."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from kpd.engine.journal import Journal, run_of
from kpd.model.lanes import waits_in
from kpd.model.status import Running

T = TypeVar("T")
Interruption = Literal["skip", "stop", "shutdown"]


class Interrupted(Exception):
    """The step under way was cancelled on purpose; `how` names the command, `by` who gave it."""

    def __init__(self, how: Interruption, by: str) -> None:
        super().__init__(how, by)
        self.how = how
        self.by = by


class Control:
    """An operator's control over one lane of a run. The event log keeps the pauses; this only wakes who waits for them.

    All lanes pause together.
    """

    def __init__(self, journal: Journal, run: str, lane: int = 0) -> None:
        self._journal = journal
        self._run = run
        self.lane = lane
        self._changed = asyncio.Event()
        self._task: asyncio.Future[Any] | None = None
        self._wanted: Interrupted | None = None
        self.in_step = False
        self._finishing = False

    def wake(self) -> None:
        """Wake a waiting run, because something that it waits for may have changed."""
        self._changed.set()

    def interrupt(self, how: Interruption, by: str) -> None:
        """Cancel the step under way; the code that awaits its job then kills the job's process group."""
        self._wanted = Interrupted(how, by)
        if self._task is not None:
            self._task.cancel()
        self.wake()

    def finish(self) -> None:
        """Let the step under way finish, as the daemon is about to end, and start no other.

        A step that only waits is interrupted.
        """
        self._finishing = True
        if not self.in_step or waits_in(run_of(self._journal, self._run), self.lane):
            self.interrupt("shutdown", "")
        self.wake()

    @contextmanager
    def step(self) -> Iterator[None]:
        """Mark the block as a step, which `finish` lets run to its end."""
        self.in_step = True
        try:
            yield
        finally:
            self.in_step = False

    async def checkpoint(self) -> None:
        """Raise a pending interruption, and wait while the run is paused or the queue is held. Called between steps."""
        self._raise_wanted()
        if self._finishing:
            raise Interrupted("shutdown", "")
        await self.ready()

    async def ready(self) -> None:
        """Wait as `checkpoint` does, inside a step, before a call that costs money.

        Unlike `checkpoint`, it does not stop a step that the daemon lets finish.
        """
        await self.wait_until(lambda: isinstance(run_of(self._journal, self._run).status, Running) and not self._held())

    async def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait, without polling, until `ready()` is true. Raises Interrupted."""
        while True:
            self._raise_wanted()
            if ready():
                return
            if self._finishing:
                raise Interrupted("shutdown", "")
            self._changed.clear()
            await self._changed.wait()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`, and let `interrupt` cancel it. Raises Interrupted in that case."""
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
        """Wait for `seconds`. Raises Interrupted."""
        await self.run(asyncio.sleep(seconds))

    def _held(self) -> bool:
        return bool(self._journal.state.held)

    def _raise_wanted(self) -> None:
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            raise wanted
