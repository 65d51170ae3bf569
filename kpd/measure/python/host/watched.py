"""Reads what the system says of another process: its threads, its times, its memory."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

CPU_TIME = 2  # of a process, as the clock of its number: see clock_getcpuclockid(3)


def threads(pid: int) -> list[int]:
    """Return the numbers of its threads; none where it has ended."""
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208
    return []


def mapped(pid: int, name: str) -> int:
    """Return where it has mapped a file of this name; 0 where it has none, or nobody tells."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
            if name in line:
                return int(line.partition("-")[0], 16)
    return 0


def memory(pid: int, address: int, size: int) -> bytes:
    """Read its memory, which may be less than was asked for. Raises OSError, ValueError, OverflowError, MemoryError."""
    file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(file, size, address)
    finally:
        os.close(file)


def own_bytes(pid: int) -> int:
    """Return how much memory it has of its own, that no file is in; 0 where nobody tells."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


def cpu_ns(pid: int) -> int:
    """Return for how long its threads have had a CPU; 0 where nobody tells."""
    with contextlib.suppress(OSError):
        return time.clock_gettime_ns(~pid << 3 | CPU_TIME)
    return 0


def scheduled_ns(pid: int) -> tuple[int, int]:
    """Return for how long in all it and we waited for a CPU that others had, and for how long its threads had one.

    Both are 0 where nobody tells.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        waited = [int(Path(f"/proc/{each}/schedstat").read_text().split()[1]) for each in (pid, "thread-self")]
        return sum(waited), cpu_ns(pid)
    return 0, 0
