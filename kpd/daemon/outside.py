"""Does what runs need in processes of kpd's own verbs, one a project, which outlive the daemon.

A process that a former daemon began holds a lock: until it is gone, nothing else begins for its project.
"""

import asyncio
import logging
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kpd.daemon.journal import EventJournal, Message
from kpd.engine.journal import holding
from kpd.model import events as e
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.waits import OwnError
from kpd.workspace.environment import keys

log = logging.getLogger(__name__)
BUSY_S = 5.0
LOOK_S = 0.5  # after which a process may have been gone before that is seen
LAST_WORDS = 2000  # bytes of its output that are searched for its last line
SAID = 300
MOST_BEGUN = 3
"""How often a process is begun for one thing, if it is ended before it can say how that went."""
GAVE_UP = f"its process was ended {MOST_BEGUN} times before it could say how it went"


class OutsideWork(ABC):
    """Begins what is due: now, after facts of the kinds in `wakes`, and when a project is free again."""

    wakes: ClassVar[tuple[type[e.Fact], ...]]

    def __init__(self, journal: EventJournal) -> None:
        self._journal = journal
        self._children: dict[str, asyncio.Task[None]] = {}
        self._later: asyncio.TimerHandle | None = None
        self._begins = False

    @abstractmethod
    def due(self, state: State) -> Iterable[Run]:
        """Yield the runs for whose project something is to be done, if nothing works on that."""

    @abstractmethod
    def busy(self, project: str) -> bool:
        """Return whether a process works on the project, or nobody can say."""

    @abstractmethod
    async def work(self, run: Run) -> None:
        """Do what is due for the run. Raises JournalError."""

    def begin(self) -> None:
        """Begin what is due, now and whenever something is from now on."""
        self._begins = True
        self._journal.subscribe(self._heard)
        self._look()

    def close(self) -> None:
        """Begin nothing any more; the processes go on."""
        self._begins = False
        self._look()

    def _heard(self, message: Message) -> None:
        if isinstance(message, e.Event) and isinstance(message.fact, self.wakes):
            self._look()

    def _look(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not self._begins or self._journal.state.held:
            return
        waiting = [run for run in self.due(self._journal.state) if run.deploy not in self._children]
        busy = {name for name in {run.deploy for run in waiting} if self.busy(name)}
        for run in waiting:
            if run.deploy not in busy and run.deploy not in self._children:
                self._children[run.deploy] = asyncio.create_task(self._work(run))
        if busy:
            self._later = asyncio.get_running_loop().call_later(BUSY_S, self._look)

    async def _work(self, run: Run) -> None:
        try:
            with holding(self._journal):
                await self.work(run)
        except Exception as err:  # it would be begun again at once, and for ever
            log.exception("what %s needs beside its iterations was interrupted by an error of kpd's own", run.id)
            self._journal.suspend(OwnError(repr(err), run.id))
        finally:
            del self._children[run.deploy]
            self._look()


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended: `said` are its last words if it failed, and `killed` says that a signal ended it."""

    said: str = ""
    killed: bool = False


def with_keys(names: Iterable[str]) -> dict[str, str]:
    """Return the environment of a process that has these of the keys that the daemon has taken, and no others."""
    return {**os.environ, **{name: keys()[name] for name in names if name in keys()}}


async def done_outside(
    root: Path, words: Iterable[str], output: Path, env: Mapping[str, str], tell: Callable[[str], None] | None = None
) -> ProcessEnd:
    """Have a verb of kpd done in a process with its output in a file, and wait for its end.

    `tell` is given the output as it comes.
    """
    try:
        process = _begun([sys.executable, "-P", "-m", "kpd.cli.main", "-w", str(root), *words], output, env)
    except OSError as err:
        return ProcessEnd(f"{err.filename or output}: {err.strerror}")
    told = 0
    while True:
        code = process.poll()
        if tell is not None:
            with suppress(OSError), output.open("rb") as file:
                file.seek(told)
                if more := file.read():
                    told += len(more)
                    tell(more.decode(errors="replace"))
        if code is not None:
            return ProcessEnd(_last_words(output, code), code < 0)
        await asyncio.sleep(LOOK_S)


def _begun(command: list[str], output: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Begin the process: no subprocess of asyncio, as those are killed with their loop. Raises OSError."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    with output.open("xb") as file:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, start_new_session=True
        )


def _last_words(output: Path, code: int) -> str:
    if code == 0:
        return ""
    said = ""
    with suppress(OSError), output.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_WORDS))
        said = file.read().decode(errors="replace").strip()
    return said.splitlines()[-1] if said else f"it ended with {code}"
