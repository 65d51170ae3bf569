"""Calls a kernel on arrays that own their memory, as most of a program's do: all others are views of shared memory."""

from __future__ import annotations

from kpd.measure.python.host.cases import COMPILE_MS, WorkerCase
from kpd.measure.python.host.judging import judged
from kpd.measure.python.host.many import far, own_worst
from kpd.measure.python.host.problems import KernelProblem, blamed

CALLS = 80  # on the same arrays, one after another
MOST_S = 0.1  # that these may take


def refuse_of_own_arrays(work: WorkerCase) -> None:
    """Refuse a kernel that is wrong for such arrays, or leaves them changed. Raises KernelProblem."""
    session, calls, worker, inputs = work.session, work.calls(), work.workers["b"], work.drawn.sets[0]
    calls.fill(0, inputs)
    if calls.in_place or session.rule.bounds:
        return
    calls.prepare(COMPILE_MS)
    calls.learn("b", work.limit_ms, work.rng)
    _, spent_ns = calls.run("b", 1, 1, work.limit_ms)
    if CALLS * spent_ns / 1e9 > MOST_S:
        return
    with blamed("b"):
        worker.ask(COMPILE_MS, what="own", base=calls.base)
    calls.run("b", 1, CALLS, CALLS * work.limit_ms)
    if result := calls.result("b", 0):  # on a CPU there is one
        found = judged(session.truth, session.rule, result)
        if found.problem is not None and far(found.problem, own_worst(work, inputs)):
            raise found.problem
    with blamed("b"):
        said = worker.ask(COMPILE_MS, what="owned", base=calls.base)["found"]
    worker.laid.clear()  # others are made anew
    if said:
        raise KernelProblem("input", "b", f"it {said} an array that is its caller's")
