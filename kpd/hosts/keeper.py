"""A program that keeps one command of this machine: runs it in a sandbox, and ends all that it started.

The command ends with the process that started the keeper, however that ends: the keeper sees its socket close. What the
command leaves behind, even in sessions of its own, is adopted by the keeper and ended, too.

One starts for each command of a session, so it imports nothing but the standard library and the helper's modules.
"""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kpd.hosts.helper.children import Children, drop_inherited
from kpd.hosts.helper.processes import own_children
from kpd.hosts.helper.sandbox import Sandbox, confine, version
from kpd.hosts.own_network import isolate
from kpd.hosts.own_terminals import own_terminals

LOOK_S = 0.1
"""Seconds between two looks at the starter and at the number of processes."""
MOST_MEMORY = min(16 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
"""Bytes: half of this machine's memory, and no more than any agent needs."""
MEMORY = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s*(\d+) kB$", re.MULTILINE)
"""The fields of /proc/PID/status that count: what a process has for itself or shares, and not what it maps of files."""
HANDED = b"\n"
"""What comes before an ending, with the listeners of a network of its own."""


class Order(NamedTuple):
    """A command, its folder and environment, and its limits.

    `reads` and `writes` are absolute paths of a sandbox; without `confined` there is none. With `ports` the command has
    a network of its own, and the starter gets a listener on each of these ports there; None: it shares the network.
    `grace_s` is the time between SIGTERM and SIGKILL. `most_processes`, `most_bytes` (of one file) and `most_memory`
    (bytes of all its processes) end or stop it.
    """

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    confined: bool = True
    ports: tuple[int, ...] | None = None
    grace_s: float = 2.0
    most_processes: int = 400
    most_bytes: int = 1 << 30
    most_memory: int = MOST_MEMORY


class Ending(NamedTuple):
    """How a command ended: its exit status, negative for a signal; `why` it was ended, empty if it ended by itself."""

    rc: int
    why: str = ""
    seconds: float = 0.0


def keep(line: socket.socket) -> Ending:
    """Run the command that comes over `line` until it ends, or the other end of `line` closes or asks for the end."""
    with line.makefile("rb") as told:
        order = Order._make(tuple(value) if isinstance(value, list) else value for value in json.loads(told.readline()))
    if order.ports is not None:
        hand_over(line, isolate(order.ports))
    terminals = own_terminals() if order.confined and version() else ()  # bubblewrap has its own
    line.setblocking(False)
    children = Children()
    children.listen()
    begun = time.monotonic()
    command = children.spawn(lambda: become(order, terminals))
    with contextlib.suppress(OSError):  # it has done it itself, and may be gone already
        os.setpgid(command, command)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)  # the starter sees the end of the command's output as soon as the command has ended
    why = ""
    while children.status(command) is None and not why:
        children.nap(LOOK_S)
        if children.asked or is_closed(line):
            why = "asked"
        elif len(found := descendants()) > order.most_processes:
            why = "processes"
        elif memory_of(found) > order.most_memory:
            why = "memory"
    children.end(command, order.grace_s)
    status = children.status(command)
    rc = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
    return Ending(rc, why, time.monotonic() - begun)


def hand_over(line: socket.socket, listeners: list[socket.socket]) -> None:
    """Give the starter these listeners, which this process has no use for."""
    socket.send_fds(line, [HANDED], [each.fileno() for each in listeners])
    for each in listeners:
        each.close()


def become(order: Order, terminals: tuple[str, ...]) -> None:
    """Become the command, in a group and a sandbox of its own, which opens its `terminals`. Raises OSError."""
    os.setpgid(0, 0)
    drop_inherited((0, 1, 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # where memory runs out between two looks, the system takes it first
        Path("/proc/self/oom_score_adj").write_text("1000")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = order.most_bytes if hard == resource.RLIM_INFINITY else min(order.most_bytes, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    os.chdir(order.cwd)
    os.nice(5)
    argv = list(order.argv)
    if order.confined:
        argv = [*confine(Sandbox(order.reads, (*order.writes, *terminals), online=True)), *argv]
    os.execvpe(argv[0], argv, order.env)


def is_closed(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def descendants() -> list[int]:
    """List the processes that descend from this one."""
    found: list[int] = []
    left = own_children()
    while left:
        pid = left.pop()
        found.append(pid)
        with contextlib.suppress(OSError):  # it has just ended
            for task in Path(f"/proc/{pid}/task").iterdir():
                left += map(int, (task / "children").read_text().split())
    return found


def memory_of(processes: Iterable[int]) -> int:
    """Return the bytes of memory and swap that the processes have; what several share counts once for each."""
    found = 0
    for pid in processes:
        with contextlib.suppress(OSError):  # it has just ended
            found += sum(map(int, MEMORY.findall(Path(f"/proc/{pid}/status").read_bytes())))
    return found << 10


def main() -> None:
    """Keep the command of the socket whose descriptor is the first argument, and send its ending back."""
    line = socket.socket(fileno=int(sys.argv[1]))
    ending = keep(line)
    with contextlib.suppress(OSError):  # the starter is gone
        line.setblocking(True)
        line.sendall(json.dumps(ending).encode() + b"\n")


if __name__ == "__main__":
    main()
