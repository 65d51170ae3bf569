"""Compares the time of a kernel with that of the task's own at a size that no case has.

Such sizes are in no contest. A kernel that is quick at those alone that it knows makes a program slower.
"""

from __future__ import annotations

from collections.abc import Mapping

from kpd.measure.python.host.cases import AT_ONCE, COMPILE_MS, WorkerCase
from kpd.measure.python.host.harness import Limit
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.secret import SecretRandom
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.sizes import work as size_of

MORE = 8  # a dim is up to so many times the multiple that is allowed larger than the least case's
BATCHES = 9  # of which the quickest counts
MOST_TIMES, MORE_NS = 2.0, 200_000  # a call may take so many times what the own kernel's does, and so much more


def between(session: RunnerCommand, cases: Mapping[str, dict[str, int]], rng: SecretRandom) -> str:
    """Make a case that is a little larger than the least of these; return its name, or "" where sizes are listed."""
    limits = session.harness.limits
    if session.settings.get("sizes") != "any" or session.rule.bounds:
        return ""
    dims = _larger(cases[min(cases, key=lambda case: size_of(cases[case]))], limits, rng)
    if dims in cases.values():
        return ""
    name = " ".join(f"{dim}={size}" for dim, size in dims.items())
    session.harness.cases[name] = dims
    return name


def _larger(least: Mapping[str, int], limits: Mapping[str, Limit], rng: SecretRandom) -> dict[str, int]:
    found = dict(least)
    for dim, size in least.items():
        limit = limits.get(dim, Limit())
        if size > 0:
            found[dim] = limit.nearest(size + limit.multiple * rng.randint(1, MORE))
    return found


def refuse_slower(session: RunnerCommand, worker: Worker, case: str, rng: SecretRandom, limit_ms: float) -> None:
    """Refuse a kernel that takes far longer than the task's own there, where that is right. Raises KernelProblem."""
    (drawn,) = session.drawing([(case, session.kinds[0], AT_ONCE)], rng)
    own = session.own()
    if own is None or sum(one.size for one in drawn.sets) > worker.size:
        return
    kind = session.kinds[0]
    ours, theirs = (WorkerCase(session, {"b": one}, case, kind, rng, limit_ms, drawn) for one in (worker, own))
    try:
        least = _quickest_ns(theirs)
    except KernelProblem:
        return
    try:
        if (found := _quickest_ns(ours)) > MOST_TIMES * least + MORE_NS:
            message = f"it takes {found / least:.1f} times as long as the task's own kernel, at a size that no case has"
            raise KernelProblem("raised", "b", message)
    except KernelProblem as err:
        raise ours.told(err, "repeats") from err


def _quickest_ns(work: WorkerCase) -> float:
    """Return what a call takes in the quickest batch. Raises KernelProblem."""
    calls = work.calls()
    for number, inputs in enumerate(work.drawn.sets):
        calls.fill(number, inputs)
    calls.prepare(COMPILE_MS)
    calls.learn("b", work.limit_ms, work.rng)
    taken = []
    for _ in range(BATCHES):
        calls.restore()
        taken.append(calls.run("b", AT_ONCE, 1, AT_ONCE * work.limit_ms)[1])
    return min(taken) / AT_ONCE
