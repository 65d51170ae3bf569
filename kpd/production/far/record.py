"""Keeps a place's record: the change with its entries, the lease, and the lock around both."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any, Dict, Iterator  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.production.far.disk import flush
from kpd.production.far.plan import Entry

OPEN, RESTORING, BLOCKED, RESTORED, COMMITTED = "open", "restoring", "blocked", "restored", "committed"
ENDED = (RESTORED, COMMITTED)
BOOT = Path("/proc/sys/kernel/random/boot_id")
Change = Dict[str, Any]  # noqa: UP006 - evaluated under Python 3.6 too: as change.json has it


class PlaceFolder:
    """The folder that kpd keeps for one root. Its methods but `locked` expect that the caller holds the lock."""

    def __init__(self, places: Path, root: Path) -> None:
        self.root = root
        name = re.sub(r"[^A-Za-z0-9._-]", "_", root.name)[:40] or "root"
        self.folder = places / f"{name}-{hashlib.sha256(os.fsencode(str(root))).hexdigest()[:12]}"
        self.originals = self.folder / "originals"
        self.program = self.folder / "program"

    def make(self) -> None:
        """Make the folders, for this user alone."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.originals.mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def locked(self) -> "Iterator[None]":
        """Hold the place's lock; it ends with the process."""
        with (self.folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def change(self) -> "Change | None":
        """Return the last change; None where there never was one."""
        try:
            return dict(json.loads((self.folder / "change.json").read_text()))
        except FileNotFoundError:
            return None

    def save(self, change: Change) -> None:
        """Replace the record of the change in one step, down to the disk."""
        self.write("change.json", json.dumps(change))

    def write(self, name: str, text: str) -> None:
        new = self.folder / f"{name}.new"
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.folder / name)
        flush(self.folder)

    def hold(self, id: str, seconds: float) -> None:
        """Hold the change for so many seconds from now. The clock is the machine's since its start: nobody sets it."""
        self.write("lease.json", json.dumps({"id": id, "boot": boot(), "until": time.monotonic() + seconds}))

    def left_s(self, change: Change) -> float:
        """Return the seconds until the change's lease is over; 0 where it is, or the machine was restarted since."""
        try:
            lease = json.loads((self.folder / "lease.json").read_text())
        except FileNotFoundError:
            return 0.0
        if (lease["id"], lease["boot"]) != (change["id"], boot()):
            return 0.0
        return max(0.0, float(lease["until"]) - time.monotonic())

    def trouble(self, text: str) -> None:
        """Note why restoring did not work, for who looks; empty when it did. On a full disk the note may fail."""
        with contextlib.suppress(OSError):
            (self.folder / "trouble").write_text(text)

    def troubled(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "trouble").read_text()
        return ""


def boot() -> str:
    """Return what tells this start of the machine from others."""
    return BOOT.read_text().strip()


def entries(change: Change) -> "list[Entry]":
    return [Entry(**dict(entry, wrote=tuple(entry["wrote"]))) for entry in change["entries"]]


def with_entry(change: Change, entry: Entry) -> Change:
    """Return the change with another entry in place of that of the same path."""
    new = [dict(entry._asdict()) if old["path"] == entry.path else old for old in change["entries"]]
    return dict(change, entries=new)
