"""Calls a kernel on uneven inputs of each case, and at sizes far beyond these, as native/sizes_beyond.c does.

Who makes less of long rows than of short ones is right in all that is near the cases. Sizes grow from call to call: of
one dim, where the others are few, and of all of them. That takes seconds, and has a job of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from kpd.measure.python.host.cases import AT_ONCE, WorkerCase, busy_s
from kpd.measure.python.host.harness import CaseInputs, Limit
from kpd.measure.python.host.judging import judged
from kpd.measure.python.host.many import far, own_worst
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.secret import SecretRandom
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.sizes import size_name, work as size_of

UNEVEN = 2  # inputs of either kind that are, of each case
LONG_TIMES = 256  # the product of all dims of the largest case, where one dim is large
REST = 8  # it is mostly no multiple of the case's, as kernels have rests of blocks
FEW = 8  # the other dims then, at the most
PAIR = 2  # a single row lies in memory as its transpose does
TIMES = 8, 64, 256  # that product, where all dims are larger
LONGER = 2  # times as long may a size take that is larger in all dims


def refuse_uneven(
    session: RunnerCommand, worker: Worker, cases: Mapping[str, dict[str, int]], rng: SecretRandom, limit_ms: float
) -> None:
    """Refuse a kernel that is wrong on uneven inputs, where the task's own is right. Raises KernelProblem."""
    if session.settings.get("sizes") != "any" or session.rule.bounds:
        return
    for dims in cases.values():
        for kind in [kind for kind in ("constant", session.kinds[0]) if kind in session.kinds] * UNEVEN:
            _right(session, worker, dims, kind, rng, limit_ms)


def call_far(session: RunnerCommand, kernel: str, size_ms: str, limit_ms: str) -> dict[str, Any]:
    """Call a kernel far beyond the cases, where a size may take so long of CPUs. Raises KernelProblem."""
    rng, worker, called = session.rng(), session.worker({"b": kernel}), 0
    if session.rule.bounds:
        return {"problem": None, "sizes": 0}
    named, limits = max(session.harness.cases.values(), key=size_of), session.harness.limits
    sized = [dim for dim in named if named[dim] > 0]
    growing = [(_long(named, dim, limits, rng), float(size_ms) / 1000) for dim in sized]
    for sizes, most_s in (*growing, (_all(named, sized, limits, rng), LONGER * float(size_ms) / 1000)):
        called += _grow(session, worker, named, sizes, most_s, rng, float(limit_ms))
    return {"problem": None, "sizes": called}


def _grow(
    session: RunnerCommand, worker: Worker, named: dict[str, int], sizes: Iterator[dict[str, int]], most_s: float,
    rng: SecretRandom, limit_ms: float,
) -> int:  # fmt: skip
    """Call the kernel at these sizes, until one could take longer. Return at how many. Raises KernelProblem."""
    took_s, before, called = 0.0, named, 0
    for dims in sizes:
        workers = _with_own(session, worker)
        begun = busy_s(*workers)
        kind = rng.choice(session.kinds)
        if took_s * _grown(before, dims) > most_s or not _right(session, worker, dims, kind, rng, limit_ms):
            break
        took_s, before, called = busy_s(*workers) - begun, dims, called + 1
    if before == named or "constant" not in session.kinds:
        return called
    limits = session.harness.limits
    pair = _allowed({dim: PAIR if size <= FEW else size for dim, size in before.items()}, limits)
    for dims in [before] if pair == before or not pair else [before, pair]:  # sums of constants are the largest
        called += _right(session, worker, dims, "constant", rng, limit_ms)
    return called


def _with_own(session: RunnerCommand, worker: Worker) -> list[Worker]:
    """Return the candidate's worker, and that of the task's own kernel where there is one."""
    try:
        own = session.own()
    except KernelProblem:
        own = None
    return [worker] if own is None else [worker, own]


def _long(
    named: Mapping[str, int], dim: str, limits: Mapping[str, Limit], rng: random.Random
) -> Iterator[dict[str, int]]:
    """Yield sizes of which this dim doubles from one to the next."""
    times, most, last = 2, LONG_TIMES * size_of(named), named[dim]
    while True:
        wanted = {one: int((FEW + 1) ** rng.random()) if size > 0 else size for one, size in named.items()}
        dims = _allowed(wanted | {dim: times * named[dim] + rng.randrange(REST)}, limits)
        if dims.get(dim, 0) <= last or size_of(dims) > most:  # the harness may allow no more
            return
        yield dims
        times, last = 2 * times, dims[dim]


def _all(
    named: Mapping[str, int], sized: list[str], limits: Mapping[str, Limit], rng: random.Random
) -> Iterator[dict[str, int]]:
    """Yield sizes none of whose dims is smaller than the case's."""
    for times in TIMES:
        shares = {dim: rng.random() for dim in sized}
        powers = {dim: share / sum(shares.values()) for dim, share in shares.items()}
        dims = _allowed({**named, **{dim: int(named[dim] * times ** powers[dim]) for dim in sized}}, limits)
        if not dims or size_of(dims) <= size_of(named):
            return
        yield dims


def _grown(before: Mapping[str, int], dims: Mapping[str, int]) -> float:
    """Return how many times as long a kernel may take that goes through all elements, or through one dim in Python."""
    return max(size_of(dims) / size_of(before), *(dims[dim] / before[dim] for dim in dims if before[dim] > 0))


def _allowed(dims: Mapping[str, int], limits: Mapping[str, Limit]) -> dict[str, int]:
    """Return the nearest size that the harness allows; empty where it allows none."""
    found = {dim: limits.get(dim, Limit()).nearest(size) if size > 0 else size for dim, size in dims.items()}
    return found if all(found[dim] > 0 or dims[dim] <= 0 for dim in dims) else {}


def _right(
    session: RunnerCommand, worker: Worker, dims: dict[str, int], kind: str, rng: SecretRandom, limit_ms: float
) -> bool:
    """Call the kernel at this size. Return whether the task's own is right there. Raises KernelProblem."""
    name = size_name(dims)
    session.harness.add_uneven(name, dims)
    (drawn,) = session.drawing([(name, kind, 1)], rng)
    inputs = drawn.sets[0]
    if AT_ONCE * inputs.size > worker.size:
        return False
    work = WorkerCase(session, {"b": worker}, name, kind, rng, limit_ms, CaseInputs([inputs] * AT_ONCE, drawn.counts))
    own = own_worst(work, inputs)
    if own is None or own > 1.0:
        return False
    try:
        first, *others = work.results()
        for result in (first, *(one for one in others if one.outputs != first.outputs)):
            found = judged(session.truth, session.rule, result)
            if found.problem is not None and far(found.problem, own):
                raise found.problem
    except KernelProblem as err:
        raise work.told(err, "repeats") from err
    return True
