"""Keeps half of the CPUs for the process that measures on a GPU: what gets ready or is compared meanwhile has the rest.

A call that launches a short kernel takes as long as its thread needs for it: other work on its core slows that down.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kpd.measure.python.host.watched import threads

FEWEST = 8  # with fewer CPUs none are kept
TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


class Cores(NamedTuple):
    """The CPUs of the process that measures, and those of all others. Both are empty where there are too few."""

    measuring: frozenset[int]
    others: frozenset[int]


NONE = Cores(frozenset(), frozenset())


@cache
def cores() -> Cores:
    """Divide the CPUs that this process had when it asked first; what is forked from it later knows them, too."""
    return divided(frozenset(os.sched_getaffinity(0)))


def divided(mine: frozenset[int]) -> Cores:
    """Keep half of the CPUs, as whole cores: two CPUs of one core would slow each other down."""
    if len(mine) < FEWEST:
        return NONE
    kept: set[int] = set()
    for cpu in sorted(mine):
        if len(kept) >= len(mine) // 2:
            break
        kept |= _siblings(cpu) & mine
    return Cores(frozenset(kept), mine - kept)


def _siblings(cpu: int) -> set[int]:
    found = {cpu}
    with contextlib.suppress(OSError, ValueError):
        for part in Path(TOPOLOGY.format(cpu)).read_text().strip().split(","):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


def move(pid: int, to: frozenset[int]) -> None:
    """Move all threads of a process to these CPUs; to none: leave them where they are."""
    if not to:
        return
    for thread in threads(pid):
        with contextlib.suppress(OSError):  # it may have ended
            os.sched_setaffinity(thread, to)
