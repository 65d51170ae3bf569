"""Compares the time of a kernel with that of the task's own at sizes that no case has.

Such sizes are in no contest. A kernel that is quick at those alone that it knows makes a program slower. Each call has
inputs of its own, and its result is compared: who keeps results of those before has nothing of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from kpd.measure.python.host.cases import AT_ONCE, COMPILE_MS, WorkerCase, busy_s
from kpd.measure.python.host.harness import CaseInputs
from kpd.measure.python.host.judging import CallVerdict, judged
from kpd.measure.python.host.many import far
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.secret import SecretRandom
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.sizes import drawn

SIZES, MOST_S = 4, 0.3  # that are drawn, or fewer after so much time of a CPU: others may have it meanwhile
OF_EACH = 3  # sizes in their order, the middle one: not all of them are so small that nothing takes long there
BATCHES = 4  # of which the quickest counts
MOST_TIMES, MORE_NS = 2.0, 200_000  # a call may take so many times what the own kernel's does, and so much more


def refuse_slower(
    session: RunnerCommand, worker: Worker, cases: Mapping[str, dict[str, int]], rng: SecretRandom, limit_ms: float
) -> None:
    """Refuse a kernel that takes far longer than the task's own there, where that is right. Raises KernelProblem."""
    if session.settings.get("sizes") != "any" or session.rule.bounds:
        return
    try:
        if (own := session.own()) is None:
            return
    except KernelProblem:
        return
    begun, took = busy_s(worker, own), list[tuple[float, float, WorkerCase]]()
    sizes = drawn(cases, session.harness.limits, rng, OF_EACH * SIZES)
    for size in sizes[1::OF_EACH] or sizes:
        if busy_s(worker, own) > begun + MOST_S:
            break
        session.harness.cases[size.name] = size.dims
        ((sets, counts),) = session.drawing([(size.name, session.kinds[0], AT_ONCE * (1 + BATCHES))], rng)
        if AT_ONCE * sets[0].size > worker.size:
            continue
        about = size.name, session.kinds[0], rng, limit_ms, CaseInputs(sets, counts)
        try:
            least, right = _quickest_ns(WorkerCase(session, {"b": own}, *about))
        except KernelProblem:
            continue
        if any(one.problem is not None for one in right):
            continue
        work = WorkerCase(session, {"b": worker}, *about)
        try:
            found, verdicts = _quickest_ns(work)
            for one, other in zip(verdicts, right, strict=True):
                if one.problem is not None and far(one.problem, other.worst.worst):
                    raise one.problem
        except KernelProblem as err:
            raise work.told(err, "repeats") from err
        took.append((found, least, work))
    shares = [found / (MOST_TIMES * least + MORE_NS) for found, least, _ in took]
    if sum(shares) > len(took):  # so that a size at which either takes long counts no more than others
        found, least, work = took[shares.index(max(shares))]
        message = f"it takes {found / least:.1f} times as long as the task's own kernel, at a size that no case has"
        raise work.told(KernelProblem("raised", "b", message), "repeats")


def _quickest_ns(work: WorkerCase) -> tuple[float, list[CallVerdict]]:
    """Return what a call takes in the quickest batch, and what came of all calls. Raises KernelProblem.

    The first batch's inputs are for what takes long once.
    """
    calls, session, taken, verdicts = work.calls(), work.session, list[int](), list[CallVerdict]()
    for batch in range(1 + BATCHES):
        for number in range(AT_ONCE):
            calls.fill(number, work.drawn.sets[batch * AT_ONCE + number])
        calls.prepare(COMPILE_MS)
        if batch == 0:
            calls.learn("b", work.limit_ms, work.rng)
            continue
        taken.append(calls.run("b", AT_ONCE, 1, AT_ONCE * work.limit_ms)[1])
        for number in range(AT_ONCE):
            calls.unchanged("b", number)
            if result := calls.result("b", number):  # on a CPU there is one
                verdicts.append(judged(session.truth, session.rule, result))
    return min(taken) / AT_ONCE, verdicts
