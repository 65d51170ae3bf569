"""Has the process of a kernel end by itself: what a kernel has registered for that runs at no other time.

kpd ends a worker by a signal. In a program of an operator functions of `atexit`, finalizers, threads that are waited
for and destructors of libraries run: where they hang or crash, or end the process in the middle, it does not come to
its end. As in native/repeat.c the status is drawn, so that what a kernel ends the process with is told from it.
"""

from __future__ import annotations

import os
from dataclasses import replace

from kpd.measure.python.host.cases import COMPILE_MS, WorkerCase
from kpd.measure.python.host.problems import Failed, KernelProblem, problem_of
from kpd.measure.python.host.process import Worker

LEAVE_MS = 10_000.0  # for all of that, while others may use the CPU
MOST_STATUS = 255
WHEN = "when its process ends, in functions of atexit or finalizers"


def end_well(work: WorkerCase) -> None:
    """End the candidate's process so. Raises KernelProblem.

    No candidate has to end better than the task's own kernel.
    """
    status = work.rng.randint(1, MOST_STATUS)
    with work.session.marks.of("leave"):
        found = _left(work.workers["b"], status)
        if found is not None and _own_ends(work, status):
            raise found.at(work.case, work.kind, WHEN)


def _own_ends(work: WorkerCase, status: int) -> bool:
    """Return whether the process of the task's own kernel does after a call; also where there is none."""
    try:
        if (worker := work.session.own()) is None:
            return True
        calls = replace(work, workers={"b": worker}).calls()
        calls.fill(0, work.drawn.sets[0])
        calls.prepare(COMPILE_MS)
        calls.run("b", 1, 1, work.limit_ms)
    except KernelProblem:
        return False
    return _left(worker, status) is None


def _left(worker: Worker, status: int) -> KernelProblem | None:
    """Have a process end with this status; return what it did instead, None where nothing."""
    try:
        worker.ask(LEAVE_MS, what="leave", status=status)
    except Failed as err:
        found = problem_of(err, "b")
        if err.kind == "exit" and worker.ended is not None:
            code = os.waitstatus_to_exitcode(worker.ended)
            return None if code == status else KernelProblem("exit", "b", f"with status {code}")
        return found
    return KernelProblem("forged", "b", "its process answers, but should end")
