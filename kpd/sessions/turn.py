"""Defines a turn of a session: one prompt, and all that the agent does about it."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kpd.claude.errors import Unavailable
from kpd.hosts.keeper import MOST_MEMORY, Ending, Order
from kpd.hosts.kept import KeptProcess
from kpd.model.session import TurnEnd
from kpd.model.spending import NOTHING, Usage
from kpd.sessions.network import AgentNetwork
from kpd.text.numbers import counted
from kpd.workspace.disk import used

MOST_DISK = 2 << 30
LOOK_S = 1.0
MOST_FILES = 200_000
"""Bytes and files of a session's folder, and seconds between two looks at it."""
LEAST_FREE = 256 << 20
"""Bytes that an agent leaves free on the disk, which is the daemon's, too."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended. `said` is the agent's last message or the error.

    `cut`: it did not end by itself, so that it may have cost more than the agent has said.
    """

    end: TurnEnd
    said: str = ""
    usage: Usage = NOTHING.usage

    @property
    def cut(self) -> bool:
        return self.end not in ("done", "refused")


class Talk(Protocol):
    """A running agent. `own` is its own name of the session, `agent` its name and version; `loads` as in
    `SessionKnown`.
    """

    own: str
    agent: str
    loads: bool

    async def ask(self, prompt: str, limit_s: float, most_usd: float) -> TurnResult:
        """Send a prompt, and wait for the end of the turn, for `limit_s` seconds and `most_usd` dollars at most."""

    def cut(self) -> None:
        """End the turn under way, as an operator wants."""

    async def close(self) -> None:
        """End the agent and all its processes."""


class Watch:
    """Watches a running agent for what ends a turn from outside. `over` is set with the first such end."""

    def __init__(self, process: KeptProcess, folder: Path) -> None:
        self._process = process
        self._folder = folder
        self.over: asyncio.Future[tuple[TurnEnd, str]] = asyncio.get_running_loop().create_future()
        self._looking = asyncio.create_task(self._look(), name="watch of a session")

    async def until(self, task: asyncio.Future[Any], limit_s: float) -> None:
        """Wait until the task is done, something ends the turn, or the time is over."""
        waiting: set[asyncio.Future[Any]] = {task, self.over}
        await asyncio.wait(waiting, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)

    def end(self, end: TurnEnd, said: str) -> None:
        if not self.over.done():
            self.over.set_result((end, said))

    def close(self) -> None:
        self._looking.cancel()

    async def _look(self) -> None:
        while not self.over.done():
            await asyncio.sleep(LOOK_S)
            size, files = await asyncio.to_thread(used, self._folder, MOST_DISK, MOST_FILES)
            if size > MOST_DISK or files > MOST_FILES:
                self.end("disk", f"its folder has {size >> 20} MiB in {counted(files, 'file')}")
            elif (free := shutil.disk_usage(self._folder).free) < LEAST_FREE:
                self.end("disk", f"the disk has {free >> 20} MiB left, and {LEAST_FREE >> 20} MiB have to stay free")


def failed(ending: Ending, said: str) -> tuple[TurnEnd, str]:
    """Return how a turn ended whose agent has ended in the middle of it."""
    if ending.why == "processes":
        return "processes", "it started too many processes"
    if ending.why == "memory":
        return "memory", f"its processes had more than {MOST_MEMORY >> 20:,} MiB of memory"
    words = said.splitlines()[-1] if said else "without a word"
    how = f"signal {-ending.rc}" if ending.rc < 0 else f"exit status {ending.rc}"
    return "crash", f"the agent ended ({how}): {words}"


async def started(order: Order, folder: Path, network: AgentNetwork | None) -> KeptProcess:
    """Start an agent, and let it reach its `network`. Raises Unavailable."""
    try:
        process = await KeptProcess.start(order, folder)
        if network is not None:
            network.open(process.listeners)
        return process
    except OSError as err:
        raise Unavailable(f"{order.argv[0]} cannot be started: {err}", "see that it can be started by hand") from err
