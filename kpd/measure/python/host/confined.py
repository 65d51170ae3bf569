"""Limits and confines a worker for good, before it loads a kernel."""

from __future__ import annotations

import ctypes
import mmap
import random
import resource
import sys
from pathlib import Path

from kpd.hosts.helper.children import LIBC
from kpd.hosts.helper.sandbox import Sandbox, confine
from kpd.measure.python.host import calls

LIMIT_DATA = 8 << 30  # bytes of memory of a worker without a GPU
OPEN_FILES = 1024  # that it may have: each can have memory of the system's own


def elsewhere(place: int) -> list[bytearray]:
    """Take some memory: what follows lies elsewhere than in other processes that were forked from the same one.

    In two that are compared with each other it lies at the same place.
    """
    drawn = random.Random(place)
    return [bytearray(drawn.randrange(1 << drawn.randrange(4, 18))) for _ in range(drawn.randrange(1000))][::2]


def limit(what: int, most: int) -> None:
    """Have this process have no more of it for good, nor what is less already."""
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def confined(writes: list[str] | None, gpu: bool) -> None:
    """Limit and confine this process for good."""
    limit(resource.RLIMIT_CORE, 0)
    if not gpu:
        limit(resource.RLIMIT_DATA, LIMIT_DATA)
        limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    if writes is not None:
        roots = {sys.prefix, sys.base_prefix, *(path for path in sys.path if path), str(Path.cwd())}
        confine(Sandbox(tuple(sorted(roots)), tuple(writes), gpu, single=True))
        calls.forbid(gpu)


def seal(memory: memoryview) -> None:
    """Have nobody in this process write to these pages from now on: who does, ends by SIGSEGV. Raises OSError.

    On Linux; elsewhere nothing is done.
    """
    if LIBC is None:
        return
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if LIBC.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(len(memory)), mmap.PROT_READ):
        raise OSError("inputs cannot be sealed: mprotect fails")
