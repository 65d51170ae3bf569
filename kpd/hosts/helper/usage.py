"""Counts what a job's processes have of the machine, so that a job that takes too much is ended.

Where a limit of a process would do harm (CUDA reserves addresses far beyond what it uses, and root may start any number
of threads), this is the only one. It needs Linux's /proc; elsewhere nothing is counted.
"""

import contextlib
import os
from pathlib import Path

from kpd.hosts.helper.processes import own_children

LOOK_S = 1.0  # some milliseconds of a CPU each
SHARE = 2  # a job may have one part in so many of the machine's memory, or of its allocation's
THREADS = 8192
GROUPS = Path("/sys/fs/cgroup")
HELD = ("RssAnon:", "RssShmem:", "VmSwap:")  # in /proc/PID/status: what the process has, but for files
EXACT = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")  # in smaps_rollup: the same, each page divided by those who share it


class JobUsage:
    """Looks now and then at a job's processes: those that descend from this one. `memory` is in bytes; 0: as SHARE."""

    def __init__(self, memory: int, threads: int = THREADS) -> None:
        self.memory = memory or machine_memory() // SHARE
        self.threads = threads

    def exceeds(self) -> str:
        """Return what the job has too much of: "memory", "threads", or nothing."""
        if not self.memory:
            return ""
        found = descendants()
        stated = [status(pid) for pid in found]
        if sum(one.get("Threads:", 0) for one in stated) > self.threads:
            return "threads"
        # In each, pages that forked processes share are counted whole: where these are too many, we look closer.
        if kib(stated, HELD) <= self.memory >> 10:
            return ""
        exact = [rolled_up(pid) for pid in found]
        hidden = [one for one, shown in zip(stated, exact) if not shown]  # noqa: B905 - Python 3.6
        return "memory" if kib(exact, EXACT) + kib(hidden, HELD) > self.memory >> 10 else ""


def kib(found: "list[dict[str, int]]", names: "tuple[str, ...]") -> int:
    return sum(one.get(name, 0) for one in found for name in names)


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or of the control group that we are in; 0 where that is not known."""
    found = [1024 * fields(Path("/proc/meminfo")).get("MemTotal:", 0)]
    for line in lines(Path("/proc/self/cgroup")):
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root, name = (GROUPS / "memory", "memory.limit_in_bytes") if kinds else (GROUPS, "memory.max")
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            with contextlib.suppress(OSError, ValueError):  # "max" is no limit
                found.append(int((folder / name).read_text()))
            if folder == root:
                break
    return min(found)


def descendants() -> "list[int]":
    """List the processes that descend from this one, which must adopt the orphans among them."""
    found = []
    new = own_children()
    while new:
        pid = new.pop()
        found.append(pid)
        with contextlib.suppress(OSError):  # it has just ended
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - quicker
                new += [int(word) for line in lines(Path(f"/proc/{pid}/task/{task}/children")) for word in line.split()]
    return found


def status(pid: int) -> "dict[str, int]":
    return fields(Path(f"/proc/{pid}/status"))


def rolled_up(pid: int) -> "dict[str, int]":
    """Return a process's share of its pages, in KiB; nothing for one that shows them to nobody."""
    return fields(Path(f"/proc/{pid}/smaps_rollup"))


def fields(path: Path) -> "dict[str, int]":
    """Read a file of lines with a name and a number; nothing where it cannot be read."""
    words = [line.split() for line in lines(path)]
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}


def lines(path: Path) -> "list[str]":
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace").splitlines()
    return []
