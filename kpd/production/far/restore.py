"""Restores the files of a change that was not committed. A restore that was cut off is begun again and completed."""

import contextlib
import os
import signal
import time
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.processes import deserted, end_marked, marked
from kpd.production.far.disk import beside_of, flush, place_of, replace, seen
from kpd.production.far.plan import Entry, ordered, step
from kpd.production.far.record import ENDED, RESTORED, RESTORING, Change, PlaceFolder, entries

TRIES = 3
END_S = 5.0  # for a job's supervisor to end what the job has started
STUCK_S = 10.0  # for killed processes to be gone


def restore(place: PlaceFolder, why: str) -> "Change | None":
    """Restore what the last change has changed, unless it has ended; return the change. The caller holds the lock.

    First the change is marked, so that nothing more is written under it, and what was started under it is ended. A file
    that somebody else has changed is left alone, and is named in `conflicts`. Raises OSError, RequestRefused: then the
    mark stays, and the next call goes on.
    """
    change = place.change()
    if change is None or change["state"] in ENDED:
        return change
    if change["state"] != RESTORING:
        change.update(state=RESTORING, why=why)
        place.save(change)
    for job in change["jobs"]:
        end_job(Path(job))
    conflicts = [entry.path for entry in ordered(entries(change)) if not put_back(place, entry)]
    for entry in entries(change):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, RequestRefused):
            beside_of(place_of(place.root, entry.path)).unlink()
    change.update(state=RESTORED, conflicts=conflicts, ended=time.time())
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
        path = place_of(place.root, entry.path)
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
