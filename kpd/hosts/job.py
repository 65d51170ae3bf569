"""Defines jobs of a host and their results; on whose behalf they run, and how long they take."""

import json
import time
from collections import deque
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from kpd.hosts.helper.wire import KEPT

Stream = Literal["stdout", "stderr", "notes"]


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """Nobody else measures on `device` while the job runs, whichever daemon on the host they ask.

    On a GPU compute processes of others are waited for, too.
    """

    device: str
    gpu: bool = False


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A shell script to run once on a host. `id` is the job's identity: a host runs one id at most once.

    The script runs in the job's own folder, which has an empty `out/`, with `env` added to a minimal environment.
    `limit_s` is in seconds, without the wait for a `lease`; `cpus` are the ones it may run on (empty: all; ignored on
    macOS, which cannot pin). `nice` is how much of a busy CPU it leaves to others, as in nice(1).
    """

    id: str
    script: str
    limit_s: float
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()
    lease: LeaseRequest | None = None
    nice: int = 0


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended. `reason` is empty when the script ended by itself; `rc` is negative for a signal.

    `lost` means that nobody knows: its supervisor was killed, or the host fell; `forget` the job to run it again.
    `seconds` counts until the script's end. `cached` means that it had ended before it was asked for. Of a very long
    stream only the last 32 MiB are here, and `stdout_cut` and `stderr_cut` are the bytes missing before them; the files
    on the host are whole. `token` numbers the lease it had, and `taint` says why it should not be believed;
    `lease_lost`: among that, because the lease was lost meanwhile.
    """

    id: str
    rc: int
    stdout: bytes
    stderr: bytes
    seconds: float
    reason: Literal["", "timeout", "killed", "lost"] = ""
    cached: bool = False
    stdout_cut: int = 0
    stderr_cut: int = 0
    token: int = 0
    taint: str = ""
    lease_lost: bool = False


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a short command ended; `rc` is None when its time limit ended it."""

    rc: int | None
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """Some output of a job, and where in the stream it stands. `notes` are the supervisor's own, as JSON lines."""

    stream: Stream
    offset: int
    data: bytes


class Tail:
    """The last KEPT bytes of a stream that comes in pieces, each with its offset."""

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()
        self.held = 0
        self.end = 0

    def add(self, offset: int, data: bytes) -> None:
        self.pieces.append(data)
        self.held += len(data)
        self.end = offset + len(data)
        while self.held - len(self.pieces[0]) >= KEPT:
            self.held -= len(self.pieces.popleft())

    def take(self) -> tuple[bytes, int]:
        """Return the bytes, and how many came before them."""
        data = b"".join(self.pieces)[-KEPT:]
        return data, self.end - len(data)


class JobNotes:
    """A job's notes, in pieces, as the objects on its whole lines."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, data: bytes) -> list[dict[str, Any]]:
        """Return what the piece completes. A line that is no object is passed over: it says nothing."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        notes = []
        for line in lines:
            try:
                note = json.loads(line)
            except ValueError:
                continue
            if isinstance(note, dict):
                notes.append(note)
        return notes


def waiting(note: dict[str, Any]) -> str | None:
    """Return what a note says about the wait for the lease: the reason, empty when it is over, None when it is about else."""
    match note:
        case {"waits": "lease"}:
            return f"{str(note.get('holder'))[:200]} measures on it"
        case {"waits": "foreign", "processes": [*others]}:
            return f"other processes compute on it: {processes(others)}"
        case {"lease": _}:
            return ""
    return None


def processes(others: list[Any]) -> str:
    """Processes of a note in words: "python (1234), train (77)"."""
    return ", ".join(f"{str(p.get('name'))[:60]} ({p.get('pid')})" for p in others if isinstance(p, dict))


job_seconds: ContextVar[list[float]] = ContextVar("worked")
"""Where the seconds are noted that hosts work on jobs for this context: what is not kpd's own overhead."""


class Claim(Protocol):
    """On whose behalf the jobs of a context have leases."""

    def turn(self, host: str, device: str) -> AbstractAsyncContextManager[None]:
        """Until others of this process leave the device; kept within. At once for who has it already."""

    def waits(self, reason: str) -> None:
        """What a job waits for before it has its lease, in words; empty when it does not wait any more."""


device_claim: ContextVar[Claim] = ContextVar("claims")
"""Who asks for the devices that jobs of this context have leases on. Without one, a job only waits for its lease."""


def note_work(begun: float, cached: bool) -> None:
    """A host has worked for this context since `begun`, by the monotonic clock; not if its answer was there already."""
    if not cached and (noted := job_seconds.get(None)) is not None:
        noted.append(time.monotonic() - begun)
