"""Calls a kernel again and again on inputs that do not change: each result must be right, or the same bits."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kpd.measure.python.host.ahead import computed
from kpd.measure.python.host.alike import refuse_taken_for_others
from kpd.measure.python.host.between import refuse_slower
from kpd.measure.python.host.beyond import refuse_uneven
from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.cases import COMPILE_MS, WorkerCase
from kpd.measure.python.host.ending import end_well
from kpd.measure.python.host.harness import CaseInputs
from kpd.measure.python.host.held import HELD
from kpd.measure.python.host.judging import compared, wrong
from kpd.measure.python.host.many import drawn_of, many, own_is_right, small
from kpd.measure.python.host.owned import refuse_of_own_arrays
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.secret import SecretRandom
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.truths import Truth
from kpd.measure.python.host.watched import own_bytes

IN_TURN = 2  # sets of inputs of calls that are repeated
SPOILT = HELD + 32  # calls of which the first ones' results are held, and those of others overwritten by their owner
VIEWED = 8  # calls on each set, while its owner has a view of a result, and no more of it
BEYOND, BEYOND_SHARE = 4096, 0.25  # calls after them at most, and the time for these as a share of theirs
ROUNDS = 32  # of these calls on both sets in a request, where a kernel does not overwrite its arguments
FIRST = 16  # of these a kernel may still take memory that it keeps
SUSPICIOUS, HOARD, HOARD_S = 4 << 20, 64 << 20, 1.0  # bytes more then: they ask for more calls, and are too many
STEADY_S = 0.05  # of calls of the task's own kernel
MANY_S = 0.45  # of calls on inputs that are new in each, and of their truths


def repeat(session: RunnerCommand, kernel: str, how: str, span_ms: str, limit_ms: str) -> dict[str, Any]:
    """Call a kernel on two sets of inputs in turn; each result must be right, and where `how` says so, the same bits.

    On one set alone what the call before has left would be right. The first results are held until the end, after
    calls on the other one's inputs.
    """
    rng = session.rng()
    kind, made, share = session.kinds[0], dict[str, int](), float(span_ms) / len(session.harness.cases) / 1000
    known = _known(session, kind, rng)
    worker = session.worker({"b": kernel})
    session.started()
    cases = dict(session.harness.cases)
    with session.turn():
        for case in cases:
            with session.marks.of("draw"):
                drawn, truths = next(known)
            work = WorkerCase(session, {"b": worker}, case, kind, rng, float(limit_ms), drawn)
            must = partial(_steady, work, truths) if how == "auto" else partial(bool, how == "yes")
            try:
                made[case] = _again(work, truths, share, must)
                if not session.gpu:
                    refuse_taken_for_others(work)
                    refuse_of_own_arrays(work)
            except KernelProblem as err:
                raise work.told(err, "repeats") from err
        if not session.gpu:
            case, more = _on_many(session, worker, rng, float(limit_ms))
            made[case] = made.get(case, 0) + more
            refuse_slower(session, worker, cases, rng, float(limit_ms))
            with session.marks.of("uneven"):
                refuse_uneven(session, worker, cases, rng, float(limit_ms))
            if worker.ended is None:
                end_well(work)
    return {"problem": None, "calls": made, "spent": session.spent()}


def _on_many(session: RunnerCommand, worker: Worker, rng: SecretRandom, limit_ms: float) -> tuple[str, int]:
    """Call the kernel on many new inputs at a small size. Return the case, and how often. Raises KernelProblem.

    At a size that is drawn the task's own kernel may fail as well.
    """
    kind, case = session.kinds[0], small(session, rng)
    with session.marks.of("many"):
        (drawn,) = session.drawing([(case, kind, drawn_of(session, case))], rng)
        work = WorkerCase(session, {"b": worker}, case, kind, rng, limit_ms, drawn)
        try:
            return case, many(work, MANY_S)
        except KernelProblem as err:
            if own_is_right(work, drawn.sets[0]):
                raise work.told(err, "repeats") from err
    return case, 0


def _known(session: RunnerCommand, kind: str, rng: SecretRandom) -> Generator[tuple[CaseInputs, list[Truth]]]:
    """Yield the inputs of each case, and what its results should be. Raises HarnessError.

    Where results are judged in children, these do both ahead of time, and find each truth once.
    """

    def one(case: str, seeds: list[int]) -> tuple[CaseInputs, list[Truth]]:
        drawn = session.harness.drawn(case, seeds, kind)
        return drawn, [session.truth.of(case, kind, inputs) for inputs in drawn.sets]

    cases = session.harness.cases
    if session.later:
        return computed((partial(one, case, [rng.getrandbits(62) for _ in range(IN_TURN)]) for case in cases), True)
    drawing = zip(cases, session.drawing(((case, kind, IN_TURN) for case in cases), rng), strict=True)
    return ((drawn, [session.truth.of(case, kind, inputs) for inputs in drawn.sets]) for case, drawn in drawing)


def _steady(work: WorkerCase, truths: Sequence[Truth]) -> bool:
    """Return whether the task's own kernel gives the same bits each time, on the inputs on which another did not."""
    try:
        worker = work.session.own()
        assert worker is not None
        _again(replace(work, workers={"b": worker}), truths, STEADY_S, partial(bool, True))
    except KernelProblem:
        return False
    return True


def _again(work: WorkerCase, truths: Sequence[Truth], share_s: float, must: Callable[[], bool]) -> int:
    """Call the kernel for so many seconds, and return how often; `must` says whether its results must be the same."""
    calls = work.calls()
    for number, inputs in enumerate(work.drawn.sets):
        calls.fill(number, inputs)
    calls.prepare(COMPILE_MS)
    calls.learn("b", work.limit_ms, work.rng)
    first: list[list[bytes | bytearray]] = [[] for _ in truths]
    deadline, made, free = time.monotonic() + share_s, 0, False
    while made < 2 * IN_TURN or time.monotonic() < deadline:
        results = calls.results("b", IN_TURN, work.limit_ms)
        for number, (truth, result) in enumerate(zip(truths, results, strict=True)):
            if made < HELD:
                calls.hold("b", number, result)
            elif made < SPOILT and not work.session.gpu:
                calls.spoil("b", number)
            bits = [one.data for one in result.outputs.values()]
            if bits == first[number]:
                continue
            output, verdict = compared(work.session.rule, result, truth)
            if not verdict.worst <= 1.0:
                raise wrong("b", output, verdict)
            if first[number] and not free:
                asked, free = time.monotonic(), True
                if must():
                    raise KernelProblem("raised", "b", "its results differ from call to call, on the same inputs")
                deadline += time.monotonic() - asked
            first[number] = bits
        made += IN_TURN
    for number, inputs in enumerate(reversed(work.drawn.sets)):  # what overwrites a result now has other bits
        calls.fill(number, inputs)
    calls.prepare(COMPILE_MS)
    deadline, more, rounds = time.monotonic() + share_s * BEYOND_SHARE, 0, 1
    worker, before = work.workers["b"], 0
    while not more or (more < BEYOND and time.monotonic() < deadline):
        if more >= FIRST and not before:
            before = own_bytes(worker.pid)
        calls.restore()
        calls.run("b", IN_TURN, rounds, IN_TURN * rounds * work.limit_ms)
        more += IN_TURN * rounds
        rounds = 1 if calls.in_place else min(2 * rounds, ROUNDS)
    calls.held["b"].refuse_overwritten()
    if not work.session.gpu:
        _refuse_reuse(work, calls)
        _refuse_hoarding(calls, worker, before, work.limit_ms)
    return made + more


def _refuse_reuse(work: WorkerCase, calls: CallSets) -> None:
    """Refuse a kernel that overwrites a result of which its owner has a view only. Raises KernelProblem."""
    for number, result in enumerate(calls.results("b", IN_TURN, work.limit_ms)):
        calls.hold("b", number, result, view=True)
    for number, inputs in enumerate(work.drawn.sets):
        calls.fill(number, inputs)
    calls.prepare(COMPILE_MS)
    for _ in range(VIEWED):
        calls.restore()
        calls.run("b", IN_TURN, 1, IN_TURN * work.limit_ms)
    calls.held["b"].refuse_overwritten()


def _refuse_hoarding(calls: CallSets, worker: Worker, before: int, limit_ms: float) -> None:
    """Refuse a kernel that has more memory with each call, and `before` bytes at first. Raises KernelProblem.

    Who takes memory for many results at once has no more for a while, but after some of these calls.
    """
    last, deadline = own_bytes(worker.pid), time.monotonic() + HOARD_S
    if not before or last - before <= SUSPICIOUS:
        return
    while time.monotonic() < deadline:
        if last - before > HOARD:
            kept = f"it keeps memory of each call, {(last - before) >> 20} MiB by now: has it cycles of references?"
            raise KernelProblem("raised", "b", kept)
        calls.restore()
        calls.run("b", IN_TURN, 1 if calls.in_place else ROUNDS, IN_TURN * ROUNDS * limit_ms)
        if (now := own_bytes(worker.pid)) <= last:
            return
        last = now
