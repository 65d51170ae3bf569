"""Computes with the task's harness in forked children: drawing inputs and comparing results keep no GPU waiting.

A child has none of the threads that its parent's libraries have started: so `alone` has torch start none there.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Any

from kpd.hosts.helper.children import DIE_WITH_PARENT, prctl
from kpd.measure.python.host.harness import HarnessError

AHEAD = 8  # children at once


def alone() -> None:
    """Have torch compute without threads of its own in this process, from its start."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def computed(functions: Iterable[Callable[[], Any]], forks: bool) -> Generator[Any]:
    """Yield what the functions return, in their order; with `forks` the first ones begin at once, each in a child.

    Raises what a function raises, and HarnessError. Without `forks` each is called when its result is wanted. Children
    whose results nobody wants are killed when the generator is closed.
    """
    rest = iter(functions)
    if not forks:
        return (function() for function in rest)
    collected = _collected(rest)
    next(collected)
    return collected


def _collected(rest: Iterator[Callable[[], Any]]) -> Generator[Any]:
    """Begin the first ones; yield None, and then the results."""
    begun: deque[tuple[int, int]] = deque()
    try:
        begun.extend(map(_begun, islice(rest, AHEAD)))
        yield None
        while begun:
            found = _result(*begun.popleft())
            begun.extend(map(_begun, islice(rest, 1)))
            yield found
    finally:
        for pid, file in begun:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(file)


def _begun(function: Callable[[], Any]) -> tuple[int, int]:
    """Fork a child for the function; return its number, and the memory file in which it leaves its result."""
    file = os.memfd_create("result")
    pid = os.fork()
    if pid:
        return pid, file
    try:
        try:
            prctl(DIE_WITH_PARENT, signal.SIGKILL)
            if "torch" in sys.modules:
                sys.modules["torch"].set_num_threads(max(1, len(os.sched_getaffinity(0)) // AHEAD))
            found = (True, function())
        except Exception as err:  # noqa: BLE001 - raised again in the parent
            found = (False, err)
        with os.fdopen(file, "wb", closefd=False) as written:
            pickle.dump(found, written, protocol=5)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - nothing of it may go on here
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(1)


def _result(pid: int, file: int) -> Any:
    _, status = os.waitpid(pid, 0)
    try:
        if status:
            ended = os.waitstatus_to_exitcode(status)
            raise HarnessError(f"harness.py: a process that computes inputs or the truth ended with {ended}")
        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as content:
            right, found = pickle.loads(content)
    finally:
        os.close(file)
    if not right:
        raise found
    return found
