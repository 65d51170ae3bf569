"""Computes with the task's harness in forked children: drawing inputs and comparing results keep no GPU waiting.

A child has none of the threads that its parent's libraries have started: so `alone` has torch start none there.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from kpd.measure.python.host.harness import HarnessError

AHEAD = 8  # children at once


def alone() -> None:
    """Have torch compute without threads of its own in this process, from its start."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def computed(functions: Iterable[Callable[[], Any]], forks: bool) -> Iterator[Any]:
    """Yield what the functions return, in their order; with `forks` the first ones begin at once, each in a child.

    Raises what a function raises, and HarnessError. Without `forks` each is called when its result is wanted.
    """
    rest = iter(functions)
    if not forks:
        return (function() for function in rest)
    return _collected(deque(map(_begun, islice(rest, AHEAD))), rest)


def _collected(begun: deque[tuple[int, int]], rest: Iterator[Callable[[], Any]]) -> Iterator[Any]:
    while begun:
        found = _result(*begun.popleft())
        begun.extend(map(_begun, islice(rest, 1)))
        yield found


def _begun(function: Callable[[], Any]) -> tuple[int, int]:
    """Fork a child for the function; return its number, and the memory file in which it leaves its result."""
    file = os.memfd_create("result")
    pid = os.fork()
    if pid:
        return pid, file
    try:
        try:
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
