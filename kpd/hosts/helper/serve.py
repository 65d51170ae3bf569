"""Runs the helper's loop and serves its requests. Each has an id; answers come as they are ready."""

import contextlib
import os
import selectors
import shutil
import signal
import stat
import sys
import time
from pathlib import Path

from kpd.hosts.helper.clean import Cleaner
from kpd.hosts.helper.files import RequestRefused, trouble
from kpd.hosts.helper.holders import Holders
from kpd.hosts.helper.jobs import Jobs
from kpd.hosts.helper.runs import ShortCommands
from kpd.hosts.helper.sandbox import held
from kpd.hosts.helper.store import ContentStore
from kpd.hosts.helper.tunnel import Tunnels
from kpd.hosts.helper.wire import GREETING, MAX_BODY, Header, Wire


class Helper:
    """One select loop over the pipe, the FIFOs of running jobs and the tunnels; with nothing to follow it sleeps."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.serving = True
        self.selector = selectors.DefaultSelector()
        self.selector.register(wire.source, selectors.EVENT_READ, self.receive)
        self.jobs = None  # type: Jobs | None
        self.tunnels = Tunnels(wire, self.selector)
        self.runs = ShortCommands(wire, self.selector)
        self.parts = [self, self.tunnels, self.runs]  # type: list[object]

    def serve(self) -> None:
        """Serve requests until the near side is gone."""
        while self.serving:
            self.await_writable(bool(self.wire.outbox))
            self.tunnels.look_for()
            for key, events in self.selector.select(self.jobs.pause() if self.jobs else None):
                key.data(events)
            if self.jobs:
                self.jobs.pump()

    def await_writable(self, wanted: bool) -> None:
        registered = self.wire.sink in self.selector.get_map()
        if wanted and not registered:
            self.selector.register(self.wire.sink, selectors.EVENT_WRITE, lambda _: self.wire.flush())
        elif registered and not wanted:
            self.selector.unregister(self.wire.sink)

    def receive(self, events: int) -> None:
        frames = self.wire.receive()
        if frames is None:
            self.serving = False
            return
        for header, body in frames:
            self.answer(header, body)

    def answer(self, header: Header, body: bytes) -> None:
        request, name = header.pop("id"), "op_" + header.pop("op")
        serve = next((getattr(part, name) for part in self.parts if hasattr(part, name)), None)
        try:
            if serve is None:
                raise RequestRefused("host", f"there is no {name}")
            reply = serve(request=request, body=body, **header)
        except Exception as err:  # noqa: BLE001 - a helper that dies of a request is asked the same again, for ever
            self.wire.send({"id": request, "error": trouble(err)})
        else:
            if reply is not None:
                data = reply.pop("body", b"")
                self.wire.send({"id": request, "ok": reply}, data)

    def op_hello(self, request: int, body: bytes, root: str, leases: str = "") -> Header:
        place = Path(root).expanduser()
        for name in ("jobs", "blobs", "trees", "tmp"):
            (place / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root = place.resolve()
        self.store = ContentStore(self.root)
        self.jobs = Jobs(self.store, Path(leases).expanduser(), self.wire, self.selector)
        holders = Holders(Path(leases).expanduser())
        self.parts = [self, self.tunnels, self.runs, self.jobs, Cleaner(self.jobs), holders]
        return {
            "root": str(self.root),
            "pid": os.getpid(),
            "clock": time.time(),
            "allocation": os.environ.get("KPD_ALLOCATION", ""),
        }

    def op_ping(self, request: int, body: bytes) -> Header:
        return {"clock": time.time()}

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
            "confinement": held(),
            "lent_gpus": os.environ.get("CUDA_VISIBLE_DEVICES", "") if "KPD_ALLOCATION" in os.environ else None,
        }

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
                    raise RequestRefused("refused", f"{path!r} is not a regular file")
                limit = min(limit, MAX_BODY)
                data = file.read(limit + 1)
            if len(data) > limit:
                raise RequestRefused("too_large", f"{path!r} is larger than {limit} bytes")
            return {"body": data}
        raise RequestRefused("refused", f"{path!r} is not below the host's folder")


def main() -> None:
    os.umask(0o077)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)  # accidental output must not garble the frames
    os.close(null)
    wire = Wire(source, sink)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the near side is gone, and so are we
        wire.send_raw(GREETING)
        Helper(wire).serve()
