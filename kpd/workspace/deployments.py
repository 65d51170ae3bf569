"""Keeps what was deployed: a file of rows for each deployment, on the disk before and after each phase."""

import contextlib
import fcntl
import logging
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from kpd.model import codec
from kpd.model.deployments import NOT_THE_CANDIDATES, Deployment, Phase
from kpd.workspace.locks import lock_soon, try_lock
from kpd.workspace.rows import add_row, fitting, rows_of
from kpd.workspace.run_files import NotRegularFile, digest, read_plain, write_atomic

T = TypeVar("T")
_FIELDS = {one.name for one in fields(Deployment)} - {"number"}
_NUMBER = re.compile(r"[0-9]{4}|[1-9][0-9]{4,8}")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What a person says of the change whose diff has the hash `diff`."""

    diff: str
    yes: bool
    by: str


@dataclass(frozen=True, slots=True)
class ShownChange:
    """The diff of a change as a person is shown it, and the hash by which they approve this one and no other."""

    diff: str
    hash: str


class DeploymentRunning(Exception):
    """The error that another process deploys this project from the same workspace."""


class DeploymentJournal:
    """The deployments of one project in a folder of the workspace, oldest first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def locked(self, wait: bool = False) -> Iterator[None]:
        """Hold the journal; the lock ends with the process. Raises DeploymentRunning unless it may `wait`, OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock("a") as lock:
            if wait:
                fcntl.flock(lock, fcntl.LOCK_EX)
            elif not lock_soon(lock):
                raise DeploymentRunning(str(self.folder))
            yield

    @property
    def busy(self) -> bool:
        """Whether a process holds the journal. Raises OSError."""
        try:
            with self._lock("r") as lock:
                return not try_lock(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    def _lock(self, mode: Literal["a", "r"]) -> IO[str]:
        """Open the lock, without waiting where somebody has put a FIFO in its place. Raises OSError."""
        return open(self.folder / "lock", mode, opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK, 0o666))

    @property
    def numbers(self) -> list[int]:
        """The numbers of all deployments."""
        stems = (path.stem for path in self.folder.glob("*.jsonl"))
        return sorted(int(stem) for stem in stems if _NUMBER.fullmatch(stem))

    def all(self) -> list[Deployment]:
        """Return all deployments but those, with a warning, whose file says nothing of one. Raises OSError."""
        found = []
        for number in self.numbers:
            try:
                found.append(OpenDeployment(self.folder, number).now)
            except (codec.CodecError, NotRegularFile) as err:
                log.warning("deployment %d in %s is left out: %r", number, self.folder, str(err))
        return found

    @property
    def next_number(self) -> int:
        """The number that the next deployment will have."""
        return max(self.numbers, default=0) + 1

    def needed(self) -> list[str]:
        """Return the ids of the changes that may still be taken back. Raises OSError."""
        states = ("open", "deployed")
        return [one.change for one in self.all() if one.state in states and one.of is None and one.taken_back is None]

    def begin(self, run: str, iteration: int, by: str, change: str, of: int | None = None) -> "OpenDeployment":
        """Begin the next deployment, under the id that its change will have. The caller holds the journal."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = self.next_number
        opened = OpenDeployment(self.folder, number)
        opened.note(number=number, run=run, iteration=iteration, at=time.time(), by=by, change=change, of=of)
        return opened

    def undecided(self, run: str, iteration: int) -> list[Deployment]:
        """Return the last deployments, oldest first, as far as they tried this iteration and say nothing of it.

        Their process was killed, the host or the lease was lost, others held the files. Raises OSError.
        """
        found = list[Deployment]()
        for one in reversed(self.all()):
            if (one.run, one.iteration, one.of) != (run, iteration, None) or one.cause not in NOT_THE_CANDIDATES:
                break
            found.insert(0, one)
        return found

    def taken_back(self, by: Deployment) -> None:
        """Note on a deployment that a rollback has taken it back, where it has."""
        if by.of is not None and by.state == "deployed":
            OpenDeployment(self.folder, by.of).note(taken_back=by.number)


class OpenDeployment:
    """A deployment that is under way, or was cut off."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.number = number

    @property
    def now(self) -> Deployment:
        """What its rows say: of each key the last value counts, and a row that was cut off says nothing.

        Raises OSError, NotRegularFile, and CodecError where they say nothing that the log could keep.
        """
        found: dict[str, Any] = {"run": "", "iteration": 0, "at": self._path.stat().st_mtime, "number": self.number}
        for row in rows_of(self._path):
            found |= {key: value for key, value in row.items() if key in _FIELDS}
        return codec.decode(codec.encode(found), Deployment)

    @property
    def purpose(self) -> str:
        """What the host is told of the change."""
        now = self.now
        what = f"takes back deployment {now.of}" if now.of else f"iteration {now.iteration} of {now.run}"
        return f"deployment {self.number}: {what}"

    def begins(self, phase: Phase) -> None:
        """Note that a phase begins, before anything of it is done."""
        self.note(phase=phase)

    def ends(self, phase: Phase, **found: Any) -> None:
        """Note that a phase is over, and what it found."""
        self._write({"done": phase, **found})

    def note(self, **found: Any) -> None:
        self._write(found)

    def close(self, **found: Any) -> Deployment:
        """Note how the deployment ended, and return it."""
        self.note(ended=time.time(), **found)
        return self.now

    def keep(self, name: str, data: bytes | str) -> None:
        """Write a file beside the journal: `diff`, `timing.json`, or `answer`."""
        write_atomic(self._beside(name), data)

    def kept(self, name: str) -> bytes:
        """Read a file beside the journal. Raises NotRegularFile, OSError."""
        return read_plain(self._beside(name))

    def fixed(self, **answer: str) -> None:
        """Note an answer of whoever mends files: what goes on for an undecided deployment is given it."""
        add_row(self._beside("answers"), answer)

    def fixes(self, kind: type[T]) -> list[T]:
        """Return these answers in their order, as values of this kind; none where none can be read."""
        with contextlib.suppress(FileNotFoundError, NotRegularFile):
            return list(fitting(rows_of(self._beside("answers")), kind))
        return []

    @property
    def shown(self) -> ShownChange | None:
        """The change that waits for a person; None where the file beside it is another one."""
        try:
            diff = self.kept("diff")
        except (FileNotFoundError, NotRegularFile):
            return None
        hash = digest(diff)
        return ShownChange(diff.decode(errors="replace"), hash) if hash == self.now.asks else None

    def answer(self, found: GateAnswer) -> None:
        """Answer it, while it waits. Raises OSError."""
        self.keep("answer", codec.encode(found))

    @property
    def answered(self) -> GateAnswer | None:
        """The last answer of a person, whatever that is about; None where there is none that can be read."""
        try:
            return codec.decode(self.kept("answer"), GateAnswer)
        except (FileNotFoundError, NotRegularFile, codec.CodecError):
            return None

    def _beside(self, name: str) -> Path:
        return self.folder / f"{self.number:04d}.{name}"

    @property
    def _path(self) -> Path:
        return self._beside("jsonl")

    def _write(self, row: dict[str, Any]) -> None:
        add_row(self._path, {"written": time.time(), **row})
