"""Restores the files of a change that was not committed. A restore that was cut off is begun again and completed."""

import contextlib
import os
import signal
import time
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.processes import deserted, end_marked, marked
from kpd.production.far.disk import below, beside_of, flush, replace, seen
from kpd.production.far.plan import Entry, ordered, step
from kpd.production.far.record import BLOCKED, ENDED, RESTORED, RESTORING, Change, PlaceFolder, entries

TRIES = 3
END_S = 5.0  # for a job's supervisor to end what the job has started
STUCK_S = 10.0  # for killed processes to be gone


def restore(place: PlaceFolder, why: str) -> "Change | None":
    """Restore what the last change has changed, unless it has ended; return the change. The caller holds the lock.

    First the change is marked, so that nothing more is written under it, and what was started under it is ended, also
    where the mark cannot be written: it may be what fills the disk. A file that somebody else has changed is left
    alone, and is named in `conflicts`. Where that is a binary, it may be built of what kpd has written: then kpd's
    sources stay beside it, and the change is blocked until the next call. Raises OSError, RequestRefused: then the mark
    stays, and the next call goes on.
    """
    change = place.change()
    if change is None or change["state"] in ENDED:
        return change
    try:
        if change["state"] != RESTORING:
            change.update(state=RESTORING, why=why)
            place.save(change)
    finally:
        for job in change["jobs"]:
            end_job(Path(job))
    each = ordered(entries(change))
    conflicts = [entry.path for entry in each if entry.kind == "binary" and not put_back(place, entry)]
    sources = [entry for entry in each if entry.kind == "file"]
    blocked = bool(conflicts) and any(step(one, seen(place.root, one.path)) == "put back" for one in sources)
    if not blocked:
        conflicts += [entry.path for entry in sources if not put_back(place, entry)]
    for entry in entries(change):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, RequestRefused):
            beside_of(below(place.root, entry.path)).unlink()
    change.update(state=BLOCKED if blocked else RESTORED, conflicts=conflicts, ended=time.time())
    place.save(change)
    place.trouble("")
    return change


def put_back(place: PlaceFolder, entry: Entry) -> bool:
    """Restore one file; return False where somebody else has changed it."""
    for _ in range(TRIES):
        now = seen(place.root, entry.path)
        what = step(entry, now)
        if what in ("same", "conflict"):
            return what == "same"
        path = below(place.root, entry.path)
        if what == "remove":
            path.unlink()
            flush(path.parent)
            return True
        path.parent.mkdir(parents=True, exist_ok=True)
        if replace(path, place.originals / entry.sha, entry.sha, entry, now):
            return True
    return False


def end_job(folder: Path) -> None:
    """End a job and all that it has started. Raises RequestRefused (busy) where something of it lives on."""
    deadline = time.monotonic() + END_S
    with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended, or was forgotten
        if not deserted(folder):
            os.kill(int((folder / "pgid").read_text().split()[1]), signal.SIGTERM)
        while not deserted(folder) and time.monotonic() < deadline:
            time.sleep(0.02)
    deadline = time.monotonic() + STUCK_S
    while any(of == folder and pid != os.getpid() for pid, of in marked()):
        end_marked(folder)
        if time.monotonic() > deadline:
            raise RequestRefused("busy", f"processes of {folder} do not end")
        time.sleep(0.02)
