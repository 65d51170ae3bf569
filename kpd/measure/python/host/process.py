"""Starts the worker and watches it: it is stopped whenever it is not asked for anything.

So nothing of it can run while the clock does not: neither threads, nor timers, nor what waits for new inputs.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import select
import signal
import time
from typing import Any

from kpd.measure.python.host import watched
from kpd.measure.python.host.device import CudaDevice, DeviceError, LentMemory, OpenedMemory
from kpd.measure.python.host.marks import Marks, RequestCost
from kpd.measure.python.host.messages import HEADER, answered, packed
from kpd.measure.python.host.problems import TOLD, Failed, NotStarted
from kpd.measure.python.host.spare import SHARED_NAME, Spare, shared_file
from kpd.measure.python.host.worker_stderr import WorkerStderr

LONGEST = 4 << 20  # bytes of an answer
START_MS = 120_000  # for a worker to import torch on a busy machine
IDLE = 15  # requests for nothing, before any kernel is loaded: what a request costs
FEW, MANY = 1, 64  # results of which it then tells where they lie
FORGED = "it writes to the socket of its process"
ANY_CHANGE = os.WNOHANG | os.WUNTRACED | os.WCONTINUED


class Worker:
    """A worker, the memory that has its inputs, and the clock of this process.

    It is confined, and writes below the folders `writes` alone; None: it is not confined. `place` draws where its
    memory begins. `first_ms` is how long a case's first call may take, where that is more than others may. What is in
    `memory` it reads, as that is shared with it; on a GPU a copy is lent to it, and only NumPy's arrays are `shared`.
    """

    def __init__(
        self,
        spare: Spare,
        size: int,
        libraries: list[str],
        writes: list[str] | None,
        gpu: bool,
        paths: list[str],
        place: int = 0,
        first_ms: float = 0.0,
    ) -> None:
        self.gpu = gpu
        self.first_ms = first_ms
        self.size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        descriptor = shared_file(self.size)
        self.memory = self.shared = memoryview(mmap.mmap(descriptor, self.size))
        self.lent: LentMemory | None = None
        self.laid: dict[int, tuple[Any, bool]] = {}  # the arguments that it has made, by where they begin in the memory
        self.threads = self.used_ns = self.asked = self.probe_ns = self.probed_ns = self.own_ns = self.mapped = 0
        self.idle: tuple[RequestCost, RequestCost] = (RequestCost(0, 0),) * 2
        self.stopped = self.spins = self.times = False
        self.marks = Marks()
        self.ended: int | None = None
        self.pid, self.line, self.errors = spare.pid, spare.line, WorkerStderr(spare.errors)
        spare.send(descriptor, size=self.size, libraries=libraries, writes=writes, gpu=gpu, paths=paths, place=place)
        os.close(descriptor)

    def lend(self, device: CudaDevice) -> None:
        """Have inputs lie on a device, and read results there."""
        self.device = device
        self.lent, self.opened = LentMemory(device, self.size), OpenedMemory(device)
        self.memory = self.lent.content

    def start(self) -> None:
        """Wait until it has imported what it needs, and stop it. Raises NotStarted."""
        try:
            with self.marks.of("start"):
                message = self._message(START_MS)
            self.stop()
            self._parsed(message)
            self.threads = len(watched.threads(self.pid))
            self.mapped = watched.mapped(self.pid, SHARED_NAME)
            few, many = self._idle(FEW), self._idle(MANY)
            each = RequestCost(*(max(0, (b - a) // (MANY - FEW)) for a, b in zip(few, many, strict=True)))
            self.idle = few._replace(ns=few.ns + self._switched()), each
            self.probe_ns = min(self._touched() for _ in range(IDLE)) if self.lent else 0
        except Failed as err:
            raise NotStarted(f"the process of kernels does not start: {err.kind} {err.number} {err}") from err
        except DeviceError as err:
            raise NotStarted(f"the GPU cannot be used: {err}") from err

    def _touched(self) -> int:
        """Return how long this process waits for the device after the worker's work on it."""
        self.ask(START_MS, what="touch")
        return self.device.probe()

    def quiet(self) -> None:
        """Measure again what a request costs on a GPU, where others may have disturbed it. It can only become less."""
        if self.lent:
            found = self._idle(FEW)
            self.idle = min(self.idle[0], found._replace(ns=found.ns + self._switched())), self.idle[1]
            self.probe_ns = min(self.probe_ns, *(self._touched() for _ in range(IDLE)))

    def _idle(self, count: int) -> RequestCost:
        """Return what a batch without calls takes, which tells where so many results lie."""
        found = []
        for _ in range(IDLE):
            if self.gpu:
                self.device.empty()
            used = self.used_ns
            _, spent = self.timed(START_MS, what="run", side="-", base=0, count=count, rounds=0)
            found.append((spent, self.used_ns - used))
        at = 0 if self.gpu else IDLE // 2  # the contexts of other processes share the GPU: some take milliseconds
        return RequestCost(*(sorted(each)[at] for each in zip(*found, strict=True)))

    def _switched(self) -> int:
        """Return how many nanoseconds the device takes to change from this process's context to the worker's."""
        first: list[int] = []
        again: list[int] = []
        for _ in range(IDLE if self.lent else 0):
            self.device.empty()
            for spent in (first, again):
                spent.append(self.timed(START_MS, what="run", side="-", base=0, count=FEW, rounds=1)[1])
        return max(0, min(first, default=0) - min(again, default=0))

    def request(self, count: int) -> RequestCost:
        """Return what a batch of so many calls takes beside them."""
        return RequestCost(*(first + (count - FEW) * each for first, each in zip(*self.idle, strict=True)))

    def ask(self, limit_ms: float, **what: Any) -> dict[str, Any]:
        """Let it do one thing, and stop it again. Return its answer. Raises Failed."""
        answer, _ = self.timed(limit_ms, **what)
        return answer

    def timed(
        self, limit_ms: float, heard: bool = False, probes: bool = False, **what: Any
    ) -> tuple[dict[str, Any], int]:
        """Do the same, and return the nanoseconds besides that passed while it was not stopped. Raises Failed.

        In calls that are `heard` its stderr is read, as in all else: they may compile, and their time tells nothing.
        With `probes`, `probed_ns` is what this process has waited for the device, from the answer on. `own_ns` is for
        how long it had a CPU itself.
        """
        self.times = what["what"] == "run" and not heard
        with self.marks.of(what["what"]):
            return self._timed(limit_ms, probes, what)

    def _timed(self, limit_ms: float, probes: bool, what: dict[str, Any]) -> tuple[dict[str, Any], int]:
        if self.ended is not None:
            self._gone(limit_ms)
        self.asked = secrets.randbits(62)
        raw = packed({**what, "id": self.asked})
        self._refuse_unasked()
        counted = what["what"] == "run"  # its request fits into the socket: nobody has to read it yet
        own = time.thread_time_ns()
        begun = time.perf_counter_ns()
        self.spins = self.gpu and counted  # to be woken up takes long
        if counted:
            self._send(raw, limit_ms)
        os.kill(self.pid, signal.SIGCONT)
        self.stopped = False
        if not counted:
            self._send(raw, limit_ms)
        message = self._message(limit_ms)
        ended = time.perf_counter_ns()
        self.own_ns = time.thread_time_ns() - own
        if probes and self.lent:
            self.probed_ns = self.device.probe()
        self.stop()
        found = self._parsed(message)
        if not self.gpu and what["what"] == "run" and len(watched.threads(self.pid)) > self.threads:
            raise Failed("left", "", len(watched.threads(self.pid)) - self.threads)
        return found, ended - begun

    def _refuse_unasked(self) -> None:
        """Raise Failed where it was let go on since it was stopped (CPU time is booked late), or has been killed."""
        if not self._ready(0) and (self.gpu or not self._wait(ANY_CHANGE)):
            return
        for _ in range(20):  # a killed process closes its line some time before it has ended
            self._wait(os.WNOHANG)
            if self.ended is not None:
                self._gone(0)
            time.sleep(0.005)
        raise Failed("forged", "its process ran while it was stopped")

    def _send(self, raw: bytes, limit_ms: float) -> None:
        self.line.settimeout(limit_ms / 1000)
        try:
            self.line.sendall(raw)
        except TimeoutError as err:
            raise Failed("timeout", f"it reads nothing within {limit_ms / 1000:g} s") from err
        except OSError:
            self._gone(limit_ms)

    def _message(self, limit_ms: float) -> bytes:
        """Read one whole answer. Raises Failed."""
        deadline = time.monotonic() + limit_ms / 1000
        found, wanted = b"", HEADER.size
        while len(found) < wanted:
            piece = b""
            if self._ready(max(0.0, 1000 * (deadline - time.monotonic()))):
                with contextlib.suppress(ConnectionError):
                    piece = self.line.recv(1 << 16)
            if not piece:
                self._gone(limit_ms)
            found += piece
            if len(found) >= HEADER.size:
                wanted = HEADER.size + HEADER.unpack(found[: HEADER.size])[0]
            if wanted > LONGEST or len(found) > wanted:
                raise Failed("forged", FORGED)
        return found[HEADER.size :]

    def _parsed(self, message: bytes) -> dict[str, Any]:
        try:
            found = answered(message)
        except (ValueError, RecursionError, MemoryError) as err:
            raise Failed("forged", FORGED) from err
        if not isinstance(found, dict) or found.pop("id", None) != self.asked:
            raise Failed("forged", FORGED)
        if "raised" in found:
            raise Failed("raised", str(found["raised"])[:TOLD])
        return found

    def _ready(self, limit_ms: float) -> bool:
        """Wait until it says something, and take what it writes to its stderr meanwhile, unless it is timed."""
        until = time.monotonic() + limit_ms / 1000
        while True:
            left = 0.0 if self.spins else max(0.0, until - time.monotonic())
            errors = [] if self.times else self.errors.descriptors
            ready, _, _ = select.select([self.line.fileno(), *errors], [], [], left)
            if self.line.fileno() in ready:
                return True
            if ready:
                self.errors.listen()
            if time.monotonic() >= until:
                return False

    def _gone(self, limit_ms: float) -> None:
        """Raise Failed for a worker that does not answer: it has ended, or it hangs."""
        deadline = time.monotonic() + 1.0
        while self.ended is None and time.monotonic() < deadline:
            self._wait(os.WNOHANG | os.WUNTRACED)
            if self.ended is None and not self._ready(0):
                break
            time.sleep(0.005)
        if self.ended is None:
            raise Failed("timeout", f"no answer within {limit_ms / 1000:g} s")
        if os.WIFSIGNALED(self.ended):
            raise Failed("crash", self.errors.last(), os.WTERMSIG(self.ended))
        raise Failed("exit", self.errors.last())

    def stop(self) -> None:
        """Stop all its threads, and wait until they are. Raises Failed where it ends instead."""
        if self.stopped or self.ended is not None:
            return
        os.kill(self.pid, signal.SIGSTOP)
        while not self.stopped:
            self._wait(os.WUNTRACED)
            if self.ended is not None:
                self._gone(0)
        self.used_ns = watched.cpu_ns(self.pid)
        self.errors.listen()

    def _wait(self, how: int) -> bool:
        """Return whether the system tells that it was stopped, was let go on or has ended."""
        pid, status = os.waitpid(self.pid, how) if self.ended is None else (0, 0)
        if pid and os.WIFSTOPPED(status):
            self.stopped = True
        elif pid and not os.WIFCONTINUED(status):
            self.ended = status
        return pid > 0

    def read(self, address: int, size: int) -> bytes:
        """Read the memory of the stopped worker. Raises Failed where there is none, or it has been closed to us."""
        try:
            found = watched.memory(self.pid, address, size)
        except (OSError, ValueError, OverflowError, MemoryError) as err:
            raise Failed("forged", f"its result cannot be read: {err}") from err
        if len(found) < size:
            raise Failed("forged", "its result is not where it says")
        return found

    def kill(self) -> None:
        """Kill it, and do not wait: on a GPU its end takes long."""
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill it, and wait until it has ended."""
        self.kill()
        if self.ended is None:
            _, self.ended = os.waitpid(self.pid, 0)
        self.line.close()
        self.errors.close()
        if self.lent:
            with contextlib.suppress(DeviceError):  # of a device that is gone nothing is left
                self.opened.close()
                self.lent.end()
            self.lent = None
