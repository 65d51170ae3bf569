"""The helper's loop and the requests it serves. Each has an id; answers come as they are ready."""

import contextlib
import errno
import math
import os
import selectors
import shutil
import signal
import stat
import sys
import time
from pathlib import Path

from kpd.hosts.helper import jobs
from kpd.hosts.helper.files import Refused, check_job, is_job, remove
from kpd.hosts.helper.store import Store
from kpd.hosts.helper.wire import GREETING, MAX_BODY, Header, Wire

PACE = (0.01, 0.2)  # seconds between looks at a followed job's output: after some came, and at most
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Helper:
    """One select loop over the pipe and the FIFOs of running jobs; with nothing to follow it sleeps."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.selector = selectors.DefaultSelector()
        self.selector.register(wire.source, selectors.EVENT_READ)
        self.running = {}  # type: dict[str, jobs.Running]
        self.followers = []  # type: list[jobs.Follower]
        self.pace = PACE[0]

    def serve(self) -> None:
        """Until the near side is gone."""
        while True:
            self.await_writable(bool(self.wire.outbox))
            live = any(not follower.ended for follower in self.followers)
            for key, _ in self.selector.select(self.pace if live else None):
                if key.fd == self.wire.source:
                    frames = self.wire.receive()
                    if frames is None:
                        return
                    for header, body in frames:
                        self.answer(header, body)
                elif key.fd == self.wire.sink:
                    self.wire.flush()
                elif self.running[key.data].ended():
                    self.job_ended(key.data)
            self.follow()

    def await_writable(self, wanted: bool) -> None:
        registered = self.wire.sink in self.selector.get_map()
        if wanted and not registered:
            self.selector.register(self.wire.sink, selectors.EVENT_WRITE)
        elif registered and not wanted:
            self.selector.unregister(self.wire.sink)

    def answer(self, header: Header, body: bytes) -> None:
        request = header.pop("id")
        serve = getattr(self, "op_" + header.pop("op"))
        try:
            reply = serve(request=request, body=body, **header)
        except Refused as err:
            self.wire.send({"id": request, "error": {"kind": err.kind, "message": err.message}})
        except OSError as err:
            kind = "no_space" if err.errno in FULL else "not_found" if err.errno == errno.ENOENT else "host"
            self.wire.send({"id": request, "error": {"kind": kind, "message": str(err)}})
        else:
            if reply is not None:
                data = reply.pop("body", b"")
                self.wire.send({"id": request, "ok": reply}, data)

    def op_hello(self, request: int, body: bytes, root: str) -> Header:
        place = Path(root).expanduser()
        for name in ("jobs", "blobs", "trees", "tmp"):
            (place / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root = place.resolve()
        self.jobs = self.root / "jobs"
        self.store = Store(self.root)
        return {"root": str(self.root), "pid": os.getpid()}

    def op_facts(self, request: int, body: bytes) -> Header:
        pins = hasattr(os, "sched_getaffinity")
        system = os.uname()
        return {
            "system": system.sysname,
            "release": system.release,
            "machine": system.machine,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "cpus": sorted(os.sched_getaffinity(0)) if pins else list(range(os.cpu_count() or 1)),
            "pinning": pins,
            "disk_free": shutil.disk_usage(str(self.root)).free,
            "clock": time.time(),
        }

    # -- content

    def op_have(self, request: int, body: bytes, shas: "list[str]") -> Header:
        return {"missing": self.store.missing(shas)}

    def op_put(self, request: int, body: bytes, blobs: "list[tuple[str, int]]") -> Header:
        self.store.put(blobs, body)
        return {}

    def op_tree(self, request: int, body: bytes, files: "dict[str, str]", blobs: "list[tuple[str, int]]") -> Header:
        self.store.put(blobs, body)
        return self.store.tree(files)

    def op_read(self, request: int, body: bytes, path: str, limit: int) -> Header:
        with contextlib.suppress(ValueError):  # a null byte, or not below the root
            place = (self.root / path).resolve()
            place.relative_to(self.root)
            descriptor = os.open(str(place), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise Refused("refused", f"{path!r} is not a regular file")
                limit = min(limit, MAX_BODY)
                data = file.read(limit + 1)
            if len(data) > limit:
                raise Refused("too_large", f"{path!r} is larger than {limit} bytes")
            return {"body": data}
        raise Refused("refused", f"{path!r} is not below the host's folder")

    # -- jobs

    def op_job(
        self, request: int, body: bytes, job: str, script: int, limit_s: float, env: "dict[str, str]", cpus: "list[int]"
    ) -> None:
        folder = self.jobs / check_job(job)
        if not folder.is_dir():
            if not (limit_s > 0 and math.isfinite(limit_s)):
                raise Refused("refused", "a job's limit must be a positive number of seconds")
            pinned = cpus if hasattr(os, "sched_setaffinity") else []
            if pinned and not set(pinned) <= os.sched_getaffinity(0):
                raise Refused("refused", f"not all of the CPUs {cpus} are available")
            env = jobs.environment(folder, env)
            self.watch(job, jobs.start(folder, self.store.fresh(), body[:script], body[script:], limit_s, env, pinned))
        running = self.look(job)
        follower = jobs.Follower(request, folder, cached=running is None)
        if running is not None:
            running.followers.append(follower)
        self.followers.append(follower)
        self.pace = PACE[0]

    def look(self, job: str) -> "jobs.Running | None":
        """The job if it runs, whoever started it."""
        if job not in self.running:
            self.watch(job, jobs.find_running(self.jobs / job))
        return self.running.get(job)

    def watch(self, job: str, running: "jobs.Running | None") -> None:
        if running is not None:
            self.running[job] = running
            self.selector.register(running.alive, selectors.EVENT_READ, job)

    def job_ended(self, job: str) -> None:
        running = self.running.pop(job)
        self.selector.unregister(running.alive)
        os.close(running.alive)
        for follower in running.followers:
            follower.ended = True
        for request in running.killers:
            self.wire.send({"id": request, "ok": {"killed": True}})

    def follow(self) -> None:
        moved = False
        for follower in list(self.followers):
            sent, complete = follower.pump(self.wire)
            moved = moved or sent
            if follower.ended and complete:
                self.followers.remove(follower)
                follower.close()
                end = jobs.outcome(follower.folder)
                self.wire.send({"id": follower.request, "ok": dict(end, cached=follower.cached)})
        self.pace = PACE[0] if moved else min(self.pace * 2, PACE[1])

    def op_kill(self, request: int, body: bytes, job: str) -> "Header | None":
        running = self.look(check_job(job))
        if running is None:
            return {"killed": False}
        supervisor = running.supervisor or jobs.supervisor_of(self.jobs / job)
        with contextlib.suppress(ProcessLookupError):  # it ends at this very moment, and the FIFO is about to say so
            os.kill(supervisor, signal.SIGTERM)
        running.killers.append(request)  # answered when the job has ended
        return None

    def op_forget(self, request: int, body: bytes, job: str) -> Header:
        if self.look(check_job(job)) is not None:
            raise Refused("running", f"job {job} still runs")
        if (self.jobs / job).is_dir():
            gone = self.store.fresh()
            (self.jobs / job).rename(gone)  # at once: nobody may take a half-removed folder for a job
            remove(gone)
        return {}

    def op_running(self, request: int, body: bytes) -> Header:
        names = [path.name for path in self.jobs.iterdir() if is_job(path.name)]
        return {"jobs": sorted(name for name in names if self.look(name) is not None)}

    def op_clean(self, request: int, body: bytes, older_than_s: float) -> Header:
        before = time.time() - older_than_s
        for path in list(self.jobs.iterdir()):
            if is_job(path.name) and path.lstat().st_mtime < before and self.look(path.name) is None:
                self.op_forget(request, body, path.name)
        if not self.running:  # a running job may use any of the rest
            self.store.clean(before)
        return {}


def main() -> None:
    os.umask(0o077)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what prints by accident must not garble the frames
    os.close(null)
    wire = Wire(source, sink)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the near side is gone, and so are we
        wire.send_raw(GREETING)
        Helper(wire).serve()
