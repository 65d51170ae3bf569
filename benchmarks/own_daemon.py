"""A daemon of a benchmark's own, in its process: what it says as it comes, and commands to it."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from kpd.client import ask
from kpd.daemon.process import serve
from kpd.model import events as e
from kpd.model.state import State
from kpd.model.waits import Hold
from kpd.text import waits
from kpd.workspace.paths import Workspace

LONGEST_S = 4 * 3600.0


class OwnDaemon:
    """A daemon that serves `workspace`; `events` are all it has recorded so far, each also given to `told`."""

    def __init__(self, workspace: Workspace, told: Callable[[e.Fact], None]) -> None:
        self.events: list[e.Event] = []
        self._workspace = workspace
        self._told = told
        self._more = asyncio.Event()
        self._held: Hold | None = None
        self.serving = asyncio.create_task(serve(workspace, [self._listen]))

    @property
    def facts(self) -> list[e.Fact]:
        return [event.fact for event in self.events]

    async def ready(self) -> None:
        """Wait until it takes commands. Raises what has ended it before."""
        while not self._workspace.socket.exists():
            if self.serving.done():
                self.serving.result()
                raise RuntimeError("the daemon has ended")
            await asyncio.sleep(0.05)

    async def until(self, *kinds: type[e.Fact]) -> None:
        """Wait until a fact of one of these kinds has come.

        Raises RuntimeError when the daemon ends first, or holds its queue without an event; TimeoutError.
        """
        async with asyncio.timeout(LONGEST_S):
            while not any(isinstance(fact, kinds) for fact in self.facts):
                if self._held is not None:  # as it does after an error of its own, or of `told`
                    raise RuntimeError(waits.hold(self._held))
                self._more.clear()
                more = asyncio.ensure_future(self._more.wait())
                await asyncio.wait([more, self.serving], return_when=asyncio.FIRST_COMPLETED)
                more.cancel()
                if self.serving.done():
                    self.serving.result()
                    raise RuntimeError("the daemon has ended")

    async def command(self, verb: str, **args: object) -> Any:
        return await asyncio.to_thread(self._ask, "command", verb, args)

    async def query(self, what: str, **args: object) -> Any:
        return await asyncio.to_thread(self._ask, "query", what, args)

    def _ask(self, kind: Literal["query", "command"], word: str, args: dict[str, object]) -> Any:
        return ask(self._workspace.socket, kind, word, args, timeout=LONGEST_S)  # a full profile takes minutes

    def _listen(self, message: object) -> None:
        if isinstance(message, e.Event):
            self.events.append(message)
            self._told(message.fact)
        elif isinstance(message, State):
            self._held = message.held
        else:
            return
        self._more.set()


@asynccontextmanager
async def own_daemon(workspace: Workspace, told: Callable[[e.Fact], None]) -> AsyncIterator[OwnDaemon]:
    """The daemon, shut down at the end unless it has ended by itself.

    SIGTERM or SIGINT ends the block, and with it the daemon and this process; alone a daemon would only rest.
    """
    daemon = OwnDaemon(workspace, told)
    loop, block = asyncio.get_running_loop(), asyncio.current_task()
    ended_by: list[int] = []

    def end(number: int) -> None:
        ended_by.append(number)
        loop.remove_signal_handler(number)  # a second one ends this process at once
        if block is not None:
            block.cancel()

    try:
        await daemon.ready()  # now its own handlers are there
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end, number)
        yield daemon
    except asyncio.CancelledError:
        if ended_by:
            raise SystemExit(128 + ended_by[0]) from None
        raise
    finally:
        if not daemon.serving.done():
            await daemon.command("shutdown", now=True)
        await daemon.serving
