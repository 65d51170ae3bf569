"""Times two kernels in one process, A B B A, by the clock of this process, which no kernel can reach.

The kernels' process is stopped between two batches. Each call of a batch has inputs of its own, of which some elements
change before each batch; outputs of calls that nobody knows beforehand are compared with the truth.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from kpd.measure.python.host.anew import FreshPairs, new_inputs
from kpd.measure.python.host.batching import (
    STEP,
    STEPS,
    WAIT_MS,
    Batch,
    WarmCase,
    batch,
    batching,
    laid_early,
    lay_out,
    rounds_of,
    warmed,
)
from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.cases import WorkerCase
from kpd.measure.python.host.judging import refuse_wrong
from kpd.measure.python.host.mixed import DRAWN
from kpd.measure.python.host.problems import SIDES, Failed, KernelProblem
from kpd.measure.python.host.session import RunnerCommand, alike

LOST_SHARE = 0.2  # a batch during which other work had the CPU for longer is taken again
MOST_LOST = 10.0  # times that of all batches of a case: with more, caches tell of other work only
CASE_NS, FEWEST_QUADS = 250_000_000, 6  # fewer quads are taken of kernels that take long
FAR, FAR_QUADS = 50, 2  # times slower, in every batch, and the quads that are enough to say so
AGAIN = 2  # batches of a quad that are taken again at most, on average
FRESH_PAIRS, FRESH_SHARE = 4, 0.1  # of a case on fresh inputs at most, and of the time of its quads that they take
ANEW_PCT = 50  # of the processes have calls on fresh inputs in arrays that are made anew, the others in those of before
PROBES, COMPARED = 12, 6  # of a GPU after a side's batches, in a process, and results of it, at least about


def time_both(session: RunnerCommand, a: str, b: str, order: str, quads: str, limit_ms: str) -> dict[str, Any]:
    """Time each case in both kernels. Returns the report of a process. Are they the same, it is the candidate.

    Without a GPU, some pairs on fresh inputs come after what a candidate seems to be faster in.
    """
    anew = secrets.randbelow(100) < ANEW_PCT
    measure, then = partial(time_case, quads=int(quads)), None if session.gpu else partial(time_fresh, anew=anew)
    with same(a, b):
        return timed(session, {"a": a, "b": b}, order, float(limit_ms), "timed", measure, then=then)


def time_incumbent(session: RunnerCommand, a: str, b: str, order: str, quads: str, limit_ms: str) -> dict[str, Any]:
    """Do the same where both are the incumbent, which was accepted before: its results are not looked at."""
    with only("a"):
        return timed(
            session,
            {"a": a, "b": b},
            order,
            float(limit_ms),
            "timed",
            partial(time_case, quads=int(quads), trusted="ab"),
        )


def time_apart(session: RunnerCommand, a: str, b: str, order: str, quads: str, limit_ms: str) -> dict[str, Any]:
    """Do the same with a process for either kernel, on a GPU, too: none finds the other one beside it.

    The incumbent's results are not looked at: it was accepted before.
    """
    session.explains = False
    measure = partial(time_case, quads=int(quads), trusted="a")
    with same(a, b):
        return timed(session, {"a": a, "b": b}, order, float(limit_ms), "timed", measure, apart=True)


def same(a: str, b: str) -> contextlib.AbstractContextManager[None]:
    """Blame the candidate alone where both sides have the same files."""
    return only("b" if Path(a).read_bytes() == Path(b).read_bytes() else "")


@contextlib.contextmanager
def only(side: str) -> Iterator[None]:
    """Blame one side for each problem, as both have its kernel; none: as it is. Raises KernelProblem."""
    try:
        yield
    except KernelProblem as err:
        if side:
            err.report["who"] = SIDES[side]
        raise


def timed(
    session: RunnerCommand,
    paths: dict[str, str],
    order: str,
    limit_ms: float,
    when: str,
    measure: Callable[[WarmCase], dict[str, Any]],
    fresh: bool = False,
    apart: bool = False,
    then: Callable[[WarmCase, dict[str, Any]], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Measure each case in both kernels, `order` loaded first, while no other process of the job does.

    The next process is loaded meanwhile, and results are judged when it may measure. Are all inputs `fresh` in each
    batch, it has fewer. What comes `then`, where the candidate seems to be faster in any case, adds to the reports. For
    either some inputs are drawn that no kernel sees. Kernels are `apart` as in RunnerCommand.both. Raises
    KernelProblem.
    """
    rng, kind, cases, bases = session.rng(), session.kinds[0], {}, batching(session.gpu).bases
    many = bases + (DRAWN if fresh or then else 0)
    drawing = session.drawing(((case, kind, many) for case in session.harness.cases), rng)
    workers = session.both(paths, order, apart)
    warm = []
    for case, drawn in zip(session.harness.cases, drawing, strict=True):
        known, unseen = drawn._replace(sets=drawn.sets[:bases]), drawn.sets[bases:]
        holds, trusted = not (fresh or session.gpu), "a" if fresh else ""
        work = WorkerCase(session, workers, case, kind, rng, limit_ms, known, holds, unseen, trusted)
        with work.blamed(when), session.marks.of("warm"):
            warm.append(warmed(work, fresh))
    early = laid_early(warm, when)
    with session.turn():
        for worker in set(workers.values()):
            worker.quiet()
        alike(workers)
        for one in warm:
            with one.work.blamed(when):
                if not early:
                    lay_out(one, 0)
                cases[one.work.case] = measure(one)
        if then is not None and faster(cases):
            for one in warm:
                with one.work.blamed(when):
                    if not early:
                        lay_out(one, 0)
                    cases[one.work.case] |= then(one, cases[one.work.case])
        if session.refuse_early() and not fresh:
            for report in cases.values():
                report["gpu_busy"] = True
        session.audit(workers["b"])
        with session.marks.of("end"):  # what a process gives back keeps the driver from others
            for worker in workers.values():
                worker.kill()
            for worker in workers.values():
                worker.end()
    with session.marks.of("judge"):
        refuse_wrong(session.judging.verdicts(), when)
    return {"cases": cases, "problem": None, "spent": session.spent()}


def time_case(warm: WarmCase, quads: int, trusted: str = "") -> dict[str, Any]:
    """Take the quads of a case. The results of sides that are `trusted` are not looked at. Raises KernelProblem."""
    work, calls, count, how = warm.work, warm.calls, warm.sets, batching(warm.work.session.gpu)
    with work.session.marks.of("ready"):
        rounds = rounds_of(warm)
    first = [_first(work, calls, side, rounds, side in trusted) for side in work.workers]
    stolen = _stolen()
    taken: dict[str, list[Batch]] = {"a": [], "b": []}
    looks = set(work.workers) - set(trusted)
    again, rested = 0, bool(looks)
    wanted = min(quads, max(FEWEST_QUADS, CASE_NS // (4 * min(first))), how.quads)
    batches = 2 * wanted * len(work.session.harness.cases)
    probed, fewest = (PROBES / batches, COMPARED / batches) if work.session.gpu and looks else (0.0, 0.0)
    compared = {side: max(share, min(fewest, 1.0)) if side in looks else 0.0 for side, share in how.compared.items()}
    one, other = work.workers
    quad = [(one, other, other, one), (other, one, one, other)]
    while len(taken["a"]) < 2 * wanted and not far_slower(taken):
        # What comes first in a quad is slower by some permille.
        for side in quad[len(taken["a"]) // 2 % 2]:
            if rested:  # what follows a comparison is slower, and would be one side's more often than the other's
                batch(work, calls, side, 1, 0.0)
            took = batch(work, calls, side, rounds, compared[side], probed)
            while took.waited > LOST_SHARE * took.ns and again < AGAIN * wanted:
                took = batch(work, calls, side, rounds, compared[side], probed)
                again += 1
            rested = took.compared
            taken[side].append(took)
            work.session.probed(side, took.probed_ns)
    for held in calls.held.values():
        held.refuse_overwritten()
    every = [one for side in "ab" for one in taken[side]]
    spent, lost = sum(one.ns for one in every), sum(one.waited for one in every)
    report = {
        "reps": count * rounds, **{f"{side}_ns": [one.ns for one in taken[side]] for side in "ab"},
        "steal_ticks": _stolen() - stolen, "threads": 1, "lost_ns": lost if lost > MOST_LOST * spent else 0,
    }  # fmt: skip
    if work.session.gpu:
        report |= _on_host(taken, count * rounds)
    if work.session.explains:
        report |= on_device(calls)
    return report


def faster(cases: dict[str, dict[str, Any]]) -> bool:
    """Return whether the candidate seems to be faster in any case."""
    return any(median(case["b_ns"]) < median(case["a_ns"]) for case in cases.values())


def time_fresh(warm: WarmCase, report: dict[str, Any], anew: bool) -> dict[str, Any]:
    """Take some pairs of batches, after those in `report`, in which each call has inputs that are wholly new.

    What a kernel keeps from call to call is worth nothing there; nor, where all arrays are made anew and elsewhere,
    that it knows those of the calls before. Raises KernelProblem.
    """
    if anew:
        warm.calls.base = STEP * warm.work.rng.randrange(STEPS)
        warm.calls.prepare(WAIT_MS, anew=True)
    until = time.monotonic() + FRESH_SHARE * (sum(report["a_ns"]) + sum(report["b_ns"])) / 1e9
    with new_inputs(warm, 2 * FRESH_PAIRS) as inputs:
        pairs = FreshPairs(warm, inputs)
        pairs.take(FRESH_PAIRS, 1, math.inf, until)
    for held in warm.calls.held.values():
        held.refuse_overwritten()
    return {"fresh": {"reps": warm.sets, **{f"{side}_ns": pairs.times[side] for side in "ab"}}}


def _first(work: WorkerCase, calls: CallSets, side: str, rounds: int, trusted: bool) -> int:
    """Take a batch of which a result is compared, and return its nanoseconds. Raises KernelProblem."""
    while True:
        one = batch(work, calls, side, rounds, float(not trusted))
        work.session.probed(side, one.probed_ns)
        if trusted or one.known:
            return one.ns


def far_slower(taken: dict[str, list[Batch]]) -> bool:
    """Return whether each batch of the candidate has taken far longer than any of the incumbent, in quads enough.

    Its batches have as many calls as the incumbent's: one that is slow at first only has none that are shorter.
    """
    a, b = ([one.ns for one in taken[side]] for side in "ab")
    return len(a) >= 2 * FAR_QUADS and min(b) > FAR * max(a)


def _on_host(taken: dict[str, list[Batch]], calls: int) -> dict[str, Any]:
    """Return for how long a call keeps the host, for both sides, as the worker says. Nothing decides by it."""
    host = [median(one.host_ns / calls for one in taken[side]) for side in "ab"]
    return {"host_ns": host} if all(host) else {}


def on_device(calls: CallSets) -> dict[str, Any]:
    """Return the time of a call on the device, for both sides, as the worker says. Nothing decides by it.

    There is none where a kernel cannot be recorded as a graph.
    """
    with contextlib.suppress(Failed, ValueError):
        found = {side: calls.device_ns(side) for side in calls.workers}
        return {"device_ns": [found[side] for side in "ab"]}
    return {}


def _stolen() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
    return 0
