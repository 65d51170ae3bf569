"""Checks and times callables: the same commands and reports as kpd's driver in C, so the daemon speaks to both alike.

    bench NAME=VALUE … describe
    bench … check KERNEL SEEDS LIMIT_MS          bench … bounds KERNEL FILE LIMIT_MS
    bench … repeat KERNEL HOW MS LIMIT_MS        bench … time A B ORDER QUADS LIMIT_MS
    bench … alone A A ORDER QUADS LIMIT_MS       bench … fresh A B ORDER MS LIMIT_MS
    bench … times A B QUADS LIMIT_MS PROCESSES   bench run KERNEL CALLS
    bench roofline

A kernel is a zip archive of a candidate's files. The secret seed is the first line of stdin. `times` is `time` in
many processes, of which each reads a line: its seed, its order, the side whose kernel it has on both (-: on neither).
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from kpd.hosts.helper.children import prctl
from kpd.measure.python.host import checking, kept, profiled, roofline, timing
from kpd.measure.python.host.ahead import alone
from kpd.measure.python.host.calling import KernelProblem
from kpd.measure.python.host.harness import HarnessError
from kpd.measure.python.host.marks import Marks
from kpd.measure.python.host.process import NotStarted
from kpd.measure.python.host.session import RunnerCommand, line, on_gpu
from kpd.measure.python.host.spare import Spare, fork

DUMPABLE = 4
MOST_WORKERS = 2  # of one command


def say(report: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    settings = {}
    while arguments and "=" in arguments[0]:
        name, _, value = arguments.pop(0).partition("=")
        settings[name] = value
    verb, *rest = arguments
    marks = Marks()
    if on_gpu() and verb != "describe":
        with marks.of("import"):
            for name in ("numpy", "torch", "triton"):
                with contextlib.suppress(ImportError):  # told when harness.py or a kernel imports it
                    __import__(name)
            kept.unpack()
            gc.collect()
            gc.freeze()  # no process that is forked from this one has to look at these objects again
    if verb == "roofline":
        say(roofline.measured())
        return 0
    if verb == "times":
        return times(settings, marks, *rest)
    return command(settings, marks, [] if verb == "describe" else [fork() for _ in range(MOST_WORKERS)], verb, rest)


def command(
    settings: dict[str, str], marks: Marks, spares: list[Spare], verb: str, rest: list[str], told: int = -1
) -> int:
    """Do what is asked for, and return the exit status. A byte to `told` tells that it has its turn to measure."""
    prctl(DUMPABLE, 0)  # nobody but root reads this process's memory from now on: seed and truth are in it
    if on_gpu():
        alone()
    try:
        session = RunnerCommand(settings, marks, spares, told)
        if verb == "describe":
            say(session.harness.described())
            return 0
        try:
            say(VERBS[verb](session, *rest))
        finally:
            session.end()
    except (HarnessError, NotStarted) as err:
        sys.stderr.write(f"{err}\n")
        return 2
    except KernelProblem as err:
        say({**EMPTY[verb], "problem": err.report})
        return 1
    return 0


def times(settings: dict[str, str], marks: Marks, a: str, b: str, quads: str, limit_ms: str, processes: str) -> int:
    """Fork a process for each observation: one gets ready while the one before measures. Return the exit status.

    So they measure and report in the order of their lines. This process knows no seed, as each of them forks its worker
    before it reads its line.
    """
    before = 0
    for _ in range(int(processes)):
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            spares = [fork()]
            settings["seed"], order, both = line().split()[:3]
            sides = {"a": [a, a], "b": [b, b]}.get(both, [a, b])
            status = command(settings, marks, spares, "time", [*sides, order, quads, limit_ms], told)
            sys.stdout.flush()
            os._exit(status)
        marks.clear()
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        if before and (status := ended(before)):
            os.kill(pid, signal.SIGKILL)
            return status
        before = pid
    return ended(before)


def ended(pid: int) -> int:
    """Wait for a process, and return its exit status as a shell does."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


VERBS: dict[str, Callable[..., dict[str, Any]]] = {
    "check": checking.check,
    "bounds": checking.bounds,
    "repeat": checking.repeat,
    "time": timing.time_both,
    "alone": timing.time_both,
    "fresh": timing.fresh,
    "run": profiled.run,
}
EMPTY: dict[str, dict[str, Any]] = {
    "check": checking.NOTHING, "bounds": {}, "repeat": {"calls": {}}, "time": {"cases": {}}, "alone": {"cases": {}},
    "fresh": {"cases": {}}, "run": {},
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
