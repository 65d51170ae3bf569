"""The dead man's switch: a process on the host that restores a change when its lease is over.

Two processes, of which each outlives the other: the guard starts the watch again when that is killed, and a watch whose
guard was killed goes on alone. When both are killed at once, the next request to the place finds them gone: one that
changes something, or asks for the status, starts them again.
"""

import contextlib
import fcntl
import os
import signal
import time
from typing import IO

from kpd.hosts.helper.children import drop_inherited, fail
from kpd.hosts.helper.files import RequestRefused
from kpd.production.far.record import BLOCKED, ENDED, RESTORING, PlaceFolder
from kpd.production.far.restore import restore

LOOK_S = 1.0
AGAIN_S = 2.0  # after a restore that failed, on a full disk for example


def lives(place: PlaceFolder) -> bool:
    """Return whether the switch of a place runs."""
    with (place.folder / "switch").open("a") as lock:
        return not taken(lock)


def arm(place: PlaceFolder) -> None:
    """Start the switch unless it runs. The caller holds the place's lock."""
    with (place.folder / "switch").open("a") as lock:
        if not taken(lock):
            return
        if os.fork() == 0:
            try:
                become(place, lock)
                os._exit(0)
            finally:  # reached only when something failed
                fail(1)


def taken(lock: "IO[str]") -> bool:
    """Take the switch's lock if nobody has it; return whether it is ours now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def become(place: PlaceFolder, lock: "IO[str]") -> None:
    """Leave the session of whoever has asked, and guard the watch until it says that the change has ended."""
    os.setsid()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    drop_inherited([lock.fileno()])
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the helper ignores it, and then nobody could wait
    while True:
        child = os.fork()
        if child == 0:
            try:
                watch(place, lock)
                os._exit(0)
            finally:
                fail(1)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return
        time.sleep(0.1)


def watch(place: PlaceFolder, lock: "IO[str]") -> None:
    """Restore the change when its lease is over, or when a restore was begun and not completed; then return.

    A change that is blocked waits for a person.
    """
    while True:
        pause = LOOK_S
        with place.locked():
            try:
                change = place.change()
                if change is not None and change["state"] not in (*ENDED, BLOCKED):
                    left = place.left_s(change)
                    if change["state"] == RESTORING or not left:
                        change = restore(place, "lease")
                    pause = min(left, LOOK_S)
            except (OSError, ValueError, RequestRefused) as err:
                place.trouble(str(err))
                pause = AGAIN_S
            else:
                if change is None or change["state"] in (*ENDED, BLOCKED):
                    fcntl.flock(lock, fcntl.LOCK_UN)  # before the next change begins, which needs the place's lock
                    return
        with contextlib.suppress(InterruptedError):
            time.sleep(pause)
