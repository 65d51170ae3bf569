"""Checks and times callables: the same commands and reports as kpd's driver in C, so the daemon speaks to both alike.

    bench NAME=VALUE … describe
    bench … check KERNEL SEEDS LIMIT_MS          bench … bounds KERNEL FILE LIMIT_MS
    bench … repeat KERNEL HOW MS LIMIT_MS        bench … time A B ORDER QUADS LIMIT_MS
    bench … fresh A B ORDER MS LIMIT_MS          bench run KERNEL CALLS

A kernel is a zip archive of a candidate's files. The secret seed is the first line of stdin.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any

from kpd.hosts.helper.children import prctl
from kpd.measure.python.host import checking, timing
from kpd.measure.python.host.calling import KernelProblem
from kpd.measure.python.host.harness import HarnessError
from kpd.measure.python.host.process import NotStarted
from kpd.measure.python.host.session import RunnerCommand, on_gpu
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
    spares = [] if verb == "describe" else _forked()
    prctl(DUMPABLE, 0)  # nobody but root reads this process's memory from now on: seed and truth are in it
    try:
        session = RunnerCommand(settings, spares)
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


def _forked() -> list[Spare]:
    """Fork as many processes as a command needs at most, on a GPU once torch is there."""
    if on_gpu():
        with contextlib.suppress(ImportError):  # told when harness.py or the worker imports it
            __import__("torch")
    return [fork() for _ in range(MOST_WORKERS)]


VERBS: dict[str, Callable[..., dict[str, Any]]] = {
    "check": checking.check,
    "bounds": checking.bounds,
    "repeat": checking.repeat,
    "time": timing.time_both,
    "fresh": timing.fresh,
    "run": timing.run,
}
EMPTY: dict[str, dict[str, Any]] = {
    "check": checking.NOTHING, "bounds": {}, "repeat": {"calls": {}}, "time": {"cases": {}}, "fresh": {"cases": {}},
    "run": {},
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
