"""Letting go of finished jobs and of content that nobody has used for longest."""

import contextlib
import os
import stat
import time
from pathlib import Path
from typing import NamedTuple

from kpd.hosts.helper.files import Refused, remove
from kpd.hosts.helper.jobs import Jobs
from kpd.hosts.helper.wire import Header

MARGIN = 3600.0  # seconds before a job's start in which the content that it uses was staged, at most


class Entry(NamedTuple):
    """A finished job, a tree, a blob, or something that was never completed, and when it was last used."""

    used: float
    path: Path


class Cleaner:
    """Removes what is old, and the oldest of the rest until it fits; never what a running job may be using."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.root = jobs.store.root

    def op_clean(self, request: int, body: bytes, older_than_s: float, keep_bytes: "int | None" = None) -> Header:
        before = time.time() - older_than_s
        since = self.oldest_start()
        for entry in self.unused("tmp", since - MARGIN):
            if entry.used < before:
                self.discard(entry)
        entries = (
            self.unused("jobs", since) + self.unused("trees", since - MARGIN) + self.unused("blobs", since - MARGIN)
        )
        taken = 0 if keep_bytes is None else size_of(self.root)
        for entry in sorted(entries):
            if entry.used < before or (keep_bytes is not None and taken > keep_bytes):
                size = size_of(entry.path)
                if self.discard(entry):
                    taken -= size
        return {}

    def oldest_start(self) -> float:
        """When the first of the jobs that run now was started; with none, later than anything."""
        starts = [float("inf")]
        for job in self.jobs.names():
            if self.jobs.look(job) is not None:
                starts.append((self.jobs.folder / job / "cmd").lstat().st_mtime)
        return min(starts)

    def unused(self, kind: str, since: float) -> "list[Entry]":
        """What was last used before that time."""
        entries = [Entry(path.lstat().st_mtime, path) for path in (self.root / kind).iterdir()]
        return [entry for entry in entries if entry.used < since]

    def discard(self, entry: Entry) -> bool:
        """Whether it is gone. What cannot be removed, such as a file that a job made as root, stops nothing else."""
        try:
            if entry.path.parent == self.jobs.folder:
                self.jobs.op_forget(0, b"", entry.path.name)
            elif stat.S_ISDIR(entry.path.lstat().st_mode):
                remove(entry.path)
            else:
                entry.path.unlink()
        except (OSError, Refused):
            return False
        return True


def size_of(path: Path) -> int:
    """Bytes on disk."""
    size = blocks(path)
    for at, folders, files in os.walk(str(path)):
        size += sum(blocks(Path(at, name)) for name in folders + files)
    return size


def blocks(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):  # a job that runs removes its files as it likes
        return path.lstat().st_blocks * 512
    return 0
