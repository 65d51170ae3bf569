"""Defines jobs of a host and their results, who asks for them, and how long they take."""

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from kpd.hosts.helper.usage import SHARE, THREADS
from kpd.hosts.helper.wire import KEPT

Stream = Literal["stdout", "stderr", "notes"]
Leave = Callable[[], bool]
"""Says whether a job goes on when nobody follows it any more."""


def never() -> bool:
    """Say that it does not."""
    return False


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A request that nobody else measures on `device` while the job runs, through any daemon on the host.

    On a GPU, compute processes of others are waited for, too.
    """

    device: str
    gpu: bool = False


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A shell script to run once on a host. `id` is the job's identity: a host runs one id at most once.

    The script runs in the job's own folder, which has an empty `out/`, with `env` added to a minimal environment.
    `limit_s` is in seconds, without the wait for a `lease`; `cpus` are the ones it may run on (empty: all; ignored on
    macOS, which cannot pin). `nice` is how much of a busy CPU it leaves to others, as in nice(1).

    A job that is `confined` runs in a sandbox, where the host's kernel has Landlock: it reads the system's programs and
    libraries, the content that its script names (trees, and the `out/` of jobs) and the host's `reads`; it writes in
    its own folder and the host's `writes`. It opens no TCP connection, and can neither signal nor look into a process
    outside. Of root it keeps no capability. A job that is `capable`, as profilers and sanitizers must be, keeps them,
    and may open TCP connections and shared memory. Where its processes together have more than `memory` bytes (0: half
    of the machine's, or of its allocation's), or some thousand threads, it is ended.
    """

    id: str
    script: str
    limit_s: float
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()
    lease: LeaseRequest | None = None
    nice: int = 0
    confined: bool = False
    capable: bool = False
    memory: int = 0


def job_fields(
    spec: JobSpec, holder: str, tolerate: Sequence[str], reads: Sequence[str], writes: Sequence[str]
) -> dict[str, Any]:
    """Return what a helper is told of a job, beside its script; the arguments are as in `Host`."""
    lease = None if spec.lease is None else {
        "device": spec.lease.device, "gpu": spec.lease.gpu, "tolerate": tolerate, "holder": f"{holder}, {spec.id}",
    }  # fmt: skip
    sandbox = {"reads": reads, "writes": writes, "capable": spec.capable} if spec.confined else None
    return {
        "job": spec.id, "limit_s": spec.limit_s, "env": spec.env, "cpus": spec.cpus, "lease": lease,
        "nice": spec.nice, "memory": spec.memory, "sandbox": sandbox,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended. `reason` is empty when the script ended by itself; `rc` is negative for a signal.

    `lost` means that its end is unknown: its supervisor was killed, or the host crashed; `forget` the job to run it
    again. `seconds` counts until the script's end. `cached` means that it had ended before it was asked for. Of a very
    long stream only the last 32 MiB are here, and `stdout_cut` and `stderr_cut` are the bytes missing before them; the
    files on the host are whole. `token` numbers the lease it had, and `taint` says why its measurements should not be
    believed; `lease_lost`: one reason is that the lease was lost.
    """

    id: str
    rc: int
    stdout: bytes
    stderr: bytes
    seconds: float
    reason: Literal["", "timeout", "memory", "threads", "killed", "lost"] = ""
    cached: bool = False
    stdout_cut: int = 0
    stderr_cut: int = 0
    token: int = 0
    taint: str = ""
    lease_lost: bool = False

    @property
    def excess(self) -> str:
        """The limit that the job's processes were ended for, in words; empty where they were not."""
        return {"memory": f"1/{SHARE} of the host's memory", "threads": f"{THREADS} threads"}.get(self.reason, "")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a short command ended; `rc` is None when its time limit ended it."""

    rc: int | None
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """Some output of a job, and its offset in the stream. `notes` are the supervisor's own, as JSON lines."""

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
        """Return the bytes, and how many bytes of the stream came before them."""
        data = b"".join(self.pieces)[-KEPT:]
        return data, self.end - len(data)


class JobNotes:
    """A job's notes, which arrive in pieces, as one object per complete line."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, data: bytes) -> list[dict[str, Any]]:
        """Return the notes that the piece completes. A line that is not a JSON object is ignored."""
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
    """Return the reason for which a note says a job waits for its lease; empty when the wait is over, else None."""
    match note:
        case {"waits": "lease", "foreign": str(path)} if path:
            remedy = "if that measures nothing, name another folder as leases in config.toml"
            return f"{str(note.get('holder'))[:200]} has locked {path[:200]}; {remedy}"
        case {"waits": "lease"}:
            return f"{str(note.get('holder'))[:200]} measures on it"
        case {"waits": "foreign", "processes": [*others]}:
            return f"other processes compute on it: {processes(others)}"
        case {"lease": _}:
            return ""
    return None


def processes(others: list[Any]) -> str:
    """Format the processes of a note for people: "python (1234), train (77)"."""
    return ", ".join(f"{str(p.get('name'))[:60]} ({p.get('pid')})" for p in others if isinstance(p, dict))


job_times: ContextVar[list[tuple[float, float]]] = ContextVar("worked")
"""Where it is noted when hosts work on jobs for this context, which is not kpd's own overhead: apart and in order."""


class Claim(Protocol):
    """The party for which the jobs of a context have leases."""

    def turn(self, host: str, device: str) -> AbstractAsyncContextManager[None]:
        """Hold the turn on the device among this process' claims while the block runs.

        Waits until the others have left it; at once for a claim that has it already.
        """

    def waits(self, reason: str) -> None:
        """Note what a job waits for before it has its lease; empty when it no longer waits."""


prepared_on: ContextVar[tuple[str, int] | None] = ContextVar("prepared_on", default=None)
"""The host, and its machine, that all was prepared on: a job there is begun on no other one that has its name since."""
device_claim: ContextVar[Claim] = ContextVar("claims")
"""Who asks for the devices that jobs of this context have leases on. Without one, a job only waits for its lease."""


def note_work(begun: float, cached: bool) -> None:
    """Note that a host has worked for this context since `begun`, by the monotonic clock; jobs at the same time as one.

    Nothing is noted if the answer was `cached`.
    """
    if cached or (noted := job_times.get(None)) is None:
        return
    while noted and noted[-1][1] > begun:
        begun = min(begun, noted.pop()[0])
    noted.append((begun, time.monotonic()))


def fits(limit_s: float, left_s: float, whole_s: float) -> bool:
    """Return whether work that may take `limit_s` may begin on a host that is there for `whole_s` in all.

    A limit is far more than most work takes: one over half of the whole time may begin in its first half.
    """
    return left_s >= min(limit_s, whole_s / 2)
