"""Deletes finished jobs and the least recently used content, in a process of its own.

A file system can be slow, and the helper has to answer meanwhile. Requests that are served in between use content and
start jobs, so each item is checked again right before it is removed.
"""

import collections
import contextlib
import functools
import json
import os
import selectors
import signal
import stat
import time
from pathlib import Path
from typing import NamedTuple

from kpd.hosts.helper.children import DIE_WITH_PARENT, drop_inherited, fail, prctl
from kpd.hosts.helper.files import is_job, remove, trouble
from kpd.hosts.helper.folder import find_running, let_go
from kpd.hosts.helper.jobs import Jobs
from kpd.hosts.helper.store import ContentStore
from kpd.hosts.helper.wire import Header

MARGIN = 3600.0  # seconds: a job's content was staged at most so long before its start
NICE = 19
REPLY = 4096  # the most bytes of the cleaner's answer, so that it comes in one piece
LONGEST = 300  # characters of an error message


class Limits(NamedTuple):
    """The limits of one request to clean: items last used before `before` (a Unix time) are removed.

    Of the rest the oldest are removed while there are more than `keep_bytes`, which None turns off.
    """

    request: int
    before: float
    keep_bytes: "int | None"


class StoredItem(NamedTuple):
    """A finished job, a tree, a blob, or something that was never completed, and when it was last used."""

    used: float
    path: Path


class Cleaner:
    """The cleaning of a host by one child at a time. A request is answered when its child has ended."""

    def __init__(self, jobs: Jobs) -> None:
        self.wire = jobs.wire
        self.selector = jobs.selector
        self.store = jobs.store
        self.requests = collections.deque()  # type: collections.deque[Limits]

    def op_clean(self, request: int, body: bytes, older_than_s: float, keep_bytes: "int | None" = None) -> None:
        limits = Limits(request, time.time() - older_than_s, keep_bytes)
        if not self.requests:
            self.begin(limits)
        self.requests.append(limits)

    def begin(self, limits: Limits) -> None:
        reading, writing = os.pipe()
        parent = os.getpid()
        if os.fork() == 0:
            try:
                become(self.store, limits, parent, writing)
            finally:  # reached only when something failed
                fail(1)
        os.close(writing)
        self.selector.register(reading, selectors.EVENT_READ, functools.partial(self.end, reading))

    def end(self, reading: int, events: int) -> None:
        said = os.read(reading, REPLY)
        self.selector.unregister(reading)
        os.close(reading)
        reply = json.loads(said.decode()) if said else {"error": {"kind": "host", "message": "the cleaning was killed"}}
        self.wire.send(dict(reply, id=self.requests.popleft().request))
        if self.requests:
            self.begin(self.requests[0])


def become(store: ContentStore, limits: Limits, parent: int, writing: int) -> None:
    """Clean in the forked child, which keeps nothing of the helper's but the pipe for its answer, and ends with it."""
    prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent ended first
    for standard in (1, 2):
        os.dup2(0, standard)
    drop_inherited([writing])
    os.nice(NICE)
    os.write(writing, json.dumps(outcome(store, limits)).encode())
    os._exit(0)


def outcome(store: ContentStore, limits: Limits) -> Header:
    """Clean, and return the answer to the request, without its id."""
    try:
        Cleaning(store).clean(limits.before, limits.keep_bytes)
    except Exception as err:  # noqa: BLE001 - whatever it is, who asked is told
        said = trouble(err)
        return {"error": dict(said, message=said["message"][:LONGEST])}
    return {"ok": {}}


class Cleaning:
    """A removal of what is old, and of the oldest of the rest until it fits. Spares what a running job may use."""

    def __init__(self, store: ContentStore) -> None:
        self.store = store
        self.jobs = store.root / "jobs"
        self.looked = set()  # type: set[tuple[str, int]]
        self.running = set()  # type: set[str]
        self.since = float("inf")  # when the first of the running jobs was started; infinite without any
        self.look()

    def clean(self, before: float, keep_bytes: "int | None") -> None:
        for entry in self.unused("tmp"):
            if entry.used < before:
                self.discard(entry)
        entries = self.unused("jobs") + self.unused("trees") + self.unused("blobs")
        taken = 0 if keep_bytes is None else size_of(self.store.root)
        for entry in sorted(entries):
            if entry.used < before or (keep_bytes is not None and taken > keep_bytes):
                size = size_of(entry.path)
                if self.discard(entry):
                    taken -= size

    def look(self) -> None:
        """Find which of the jobs that are new since the last look run.

        A job that has ended since then still counts as running.
        """
        with os.scandir(str(self.jobs)) as found:
            new = {(entry.name, entry.inode()) for entry in found} - self.looked
        for name, inode in new:
            running = find_running(self.jobs / name)
            if running is not None:
                os.close(running.alive)
                self.running.add(name)
                self.since = min(self.since, started(self.jobs / name))
            self.looked.add((name, inode))

    def unused(self, kind: str) -> "list[StoredItem]":
        """List the items of this kind that no running job may be using."""
        entries = []
        for path in (self.store.root / kind).iterdir():
            with contextlib.suppress(FileNotFoundError):  # a request has removed it meanwhile
                entries.append(StoredItem(path.lstat().st_mtime, path))
        return [entry for entry in entries if self.is_unused(entry)]

    def is_unused(self, entry: StoredItem) -> bool:
        if entry.path.parent == self.jobs:
            return entry.used < self.since and entry.path.name not in self.running and is_job(entry.path.name)
        return entry.used < self.since - MARGIN

    def discard(self, entry: StoredItem) -> bool:
        """Remove an item if it is still unused, and return whether it is gone.

        An item that cannot be removed, such as a file that a job made as root, does not stop the cleaning.
        """
        try:
            self.look()
            found = entry.path.lstat()
            if found.st_mtime != entry.used or not self.is_unused(entry):
                return False
            if entry.path.parent == self.jobs:
                let_go(entry.path, self.store.fresh())
            elif not stat.S_ISDIR(found.st_mode):
                entry.path.unlink()
            else:
                self.set_aside(entry.path)
        except OSError:
            return False
        return True

    def set_aside(self, folder: Path) -> None:
        """Remove a folder, renamed to a fresh path first, so that nobody sees half of it.

        Half a tree would be taken for a damaged one.
        """
        gone = self.store.fresh()
        folder.chmod(0o700)  # a read-only folder cannot be moved either
        folder.rename(gone)
        remove(gone)


def started(job: Path) -> float:
    """Return when a job was started, as a Unix time; -inf if it has removed the file that shows it."""
    with contextlib.suppress(OSError):
        return (job / "cmd").lstat().st_mtime
    return float("-inf")


def size_of(path: Path) -> int:
    """Count the bytes on disk below a path."""
    size = blocks(path)
    for at, folders, files in os.walk(str(path)):
        size += sum(blocks(Path(at, name)) for name in folders + files)
    return size


def blocks(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):  # a running job may remove its files at any time
        return path.lstat().st_blocks * 512
    return 0
