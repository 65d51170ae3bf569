"""Takes locks on open files, without waiting or for a short while; each ends with its process."""

import fcntl
import time
from typing import IO, Any

LOOK_S = 0.2
"""Whoever looks whether a lock is free holds it for far less than that."""


def try_lock(lock: int | IO[Any], how: int = fcntl.LOCK_EX) -> bool:
    """Take a lock if it is free. Return whether it is held now. Raises OSError."""
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_soon(lock: int | IO[Any]) -> bool:
    """Take a lock that somebody may be looking at just now. Return whether it is held now. Raises OSError."""
    until = time.monotonic() + LOOK_S
    while not try_lock(lock):
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_S / 20)
    return True
