"""Starts, follows, kills and forgets the jobs below one folder."""

import collections
import contextlib
import functools
import math
import os
import re
import selectors
import signal
import time
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused, check_job, is_job
from kpd.hosts.helper.folder import RunningJob, environment, find_running, let_go, loss, outcome, start, supervisor_of
from kpd.hosts.helper.follow import Follower
from kpd.hosts.helper.lease import LeaseTerms
from kpd.hosts.helper.lock import lock_path, opened
from kpd.hosts.helper.sandbox import Sandbox, toolchains
from kpd.hosts.helper.store import ContentStore
from kpd.hosts.helper.supervisor import JobOrder
from kpd.hosts.helper.wire import Header, Wire

PACE = (0.01, 0.2)  # seconds between looks at the output of followed jobs, at the least and at most …
LATE = 0.1  # … and so much of the time since there was any: a report comes late by a tenth of what it took


def until_look(silent: float) -> float:
    """Return the seconds until the next look at outputs where there was nothing for so many seconds."""
    return min(max(PACE[0], LATE * silent), PACE[1])


class Jobs:
    """The jobs below one folder: those that run, and the requests that follow them, whichever helper started them."""

    def __init__(self, store: ContentStore, leases: Path, wire: Wire, selector: selectors.BaseSelector) -> None:
        self.store = store
        self.folder = store.root / "jobs"
        self.leases = leases
        self.wire = wire
        self.selector = selector
        self.live = {}  # type: dict[str, RunningJob]
        self.followers = collections.deque()  # type: collections.deque[Follower]
        self.moved = 0.0  # when output of a followed job came last, or a request to follow one

    def op_job(
        self,
        request: int,
        body: bytes,
        job: str,
        script: int,
        limit_s: float,
        env: "dict[str, str]",
        cpus: "list[int]",
        lease: "Header | None" = None,
        nice: int = 0,
        sandbox: "Header | None" = None,
        memory: int = 0,
    ) -> None:
        folder = self.folder / check_job(job)
        if not folder.is_dir():
            if not (limit_s > 0 and math.isfinite(limit_s)):
                raise RequestRefused("refused", "a job's limit must be a positive number of seconds")
            pinned = cpus if hasattr(os, "sched_setaffinity") else []
            if pinned and not set(pinned) <= os.sched_getaffinity(0):
                raise RequestRefused("refused", f"not all of the CPUs {cpus} are available")
            terms = None if lease is None else self.terms(**lease)
            environ = environment(folder, env)
            confined = None if sandbox is None else self.sandbox(folder, body[:script], environ, **sandbox)
            order = JobOrder(body[:script], body[script:], limit_s, environ, pinned, terms, nice, confined, memory)
            self.watch(job, start(folder, self.store.fresh(), order))
            self.touch(order.script)
        self.op_follow(request, body, job, {})

    def op_follow(self, request: int, body: bytes, job: str, offsets: "dict[str, int]") -> None:
        folder = self.folder / check_job(job)
        if not folder.is_dir():
            raise RequestRefused("not_found", f"there is no job {job}")
        cached = self.look(job) is None
        self.followers.append(Follower(request, folder, cached, offsets))
        self.moved = time.monotonic()
        if cached:
            os.utime(str(folder))  # `clean` goes by the last use

    def terms(self, device: str, gpu: bool, tolerate: "list[str]", holder: str) -> LeaseTerms:
        """Check a lease's terms and return them.

        Raises RequestRefused if the host can give no lease, before the job starts.
        """
        if not self.leases.is_absolute():
            raise RequestRefused("refused", f"the folder of leases must be an absolute path, not {str(self.leases)!r}")
        terms = LeaseTerms(device, lock_path(self.leases, device), gpu, tolerate, holder)
        for lock in opened(terms.path):
            lock.close()
        return terms

    def touch(self, script: bytes) -> None:
        """Mark the trees and other jobs that a script names as used now: `clean` goes by the last use."""
        for path in self.named(script):
            with contextlib.suppress(FileNotFoundError):
                os.utime(str(path), follow_symlinks=False)

    def named(self, script: bytes) -> "list[Path]":
        """Return the folders of the trees and other jobs that a script names."""
        found = re.findall(rb"\b(trees|jobs)/([A-Za-z0-9._-]+)", script)
        return [self.store.root / kind.decode() / name.decode() for kind, name in found]

    def sandbox(
        self,
        folder: Path,
        script: bytes,
        environ: "dict[str, str]",
        reads: "list[str]",
        writes: "list[str]",
        capable: bool,
    ) -> Sandbox:
        """Return what the job of this folder may read and write. Of another job it reads the results."""
        named = [place / "out" if place.parent.name == "jobs" else place for place in self.named(script)]
        readable, writable = ([str(Path(one).expanduser()) for one in given] for given in (reads, writes))
        tools, gpu = toolchains(environ["PATH"]), "CUDA_VISIBLE_DEVICES" in environ
        return Sandbox((*map(str, named), *tools, *readable), (str(folder), *writable), gpu, capable)

    def look(self, job: str) -> "RunningJob | None":
        """Return the job if it runs, whichever helper started it; else None."""
        if job not in self.live:
            self.watch(job, find_running(self.folder / job))
        return self.live.get(job)

    def watch(self, job: str, running: "RunningJob | None") -> None:
        if running is not None:
            self.live[job] = running
            self.selector.register(running.alive, selectors.EVENT_READ, functools.partial(self.stir, job, running))

    def stir(self, job: str, running: RunningJob, events: int) -> None:
        if not running.ended():
            return
        del self.live[job]
        self.selector.unregister(running.alive)
        os.close(running.alive)
        for follower in self.followers:
            if follower.folder.name == job:
                follower.ended = True
        for request in running.killers:
            self.wire.send({"id": request, "ok": {"killed": True, "lost": loss(self.folder / job)}})

    def pause(self) -> "float | None":
        """Return the seconds until the next look at the output of followed jobs; None when none is followed."""
        if all(follower.ended for follower in self.followers):
            return None
        return until_look(time.monotonic() - self.moved)

    def pump(self) -> None:
        moved = False
        for follower in list(self.followers):
            sent, complete = follower.pump(self.wire)
            moved = moved or sent
            if follower.ended and complete:
                self.followers.remove(follower)
                follower.close()
                end = outcome(follower.folder)
                self.wire.send({"id": follower.request, "ok": dict(end, cached=follower.cached)})
        self.followers.rotate(-1)  # so that another one is first when the pipe takes more
        if moved:
            self.moved = time.monotonic()

    def op_kill(self, request: int, body: bytes, job: str) -> "Header | None":
        running = self.look(check_job(job))
        if running is None:
            return {"killed": False, "lost": loss(self.folder / job)}
        supervisor = running.supervisor or supervisor_of(self.folder / job)
        with contextlib.suppress(ProcessLookupError):  # it ends at this very moment, and the FIFO is about to say so
            os.kill(supervisor, signal.SIGTERM)
        running.killers.append(request)  # answered when the job has ended
        return None

    def op_forget(self, request: int, body: bytes, job: str) -> Header:
        folder = self.folder / check_job(job)
        if self.look(job) is not None:
            raise RequestRefused("running", f"job {job} still runs")
        if folder.is_dir():
            let_go(folder, self.store.fresh())
        return {}

    def op_running(self, request: int, body: bytes) -> Header:
        return {"jobs": sorted(job for job in self.names() if self.look(job) is not None)}

    def names(self) -> "list[str]":
        return [path.name for path in self.folder.iterdir() if is_job(path.name)]
