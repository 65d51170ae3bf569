"""Times two kernels in one process, A B B A, by the clock of this process, which no kernel can reach.

The kernels' process is stopped between two batches. Each call of a batch has inputs of its own, of which some elements
change before each batch; outputs of calls that nobody knows beforehand are compared with the truth.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kpd.measure.python.host.calling import SIDES, CallSets, KernelProblem
from kpd.measure.python.host.judging import CallVerdict
from kpd.measure.python.host.process import Failed, Worker
from kpd.measure.python.host.session import RunnerCommand, WorkerCase


class Batching(NamedTuple):
    """How many batches, and of what: `ns` is about what one lasts, `sets` the inputs that it has at most.

    These take at most `room` bytes. The harness draws the first `bases` of these; the others begin as one of them, with
    elements changed. The time of a call is told from `trial` calls or more. `compared` is the share of batches
    of which a result is compared.
    """

    ns: int
    sets: int
    room: int
    bases: int
    trial: int
    quads: int
    compared: dict[str, float]


CPU = Batching(250_000, 64, 48 << 20, 4, 1, 1 << 16, {"a": 0.02, "b": 0.12})
# Before a batch the L2 is overwritten besides.
GPU = Batching(2_000_000, 32, 512 << 20, 2, 8, 16, {"a": 0.02, "b": 0.06})
MOST_TRIAL = 1 << 12
LOST_SHARE = 0.2  # a batch during which other work had the CPU for longer is taken again
MOST_LOST = 10.0  # times that of all batches of a case: with more, caches tell of other work only
CASE_NS, FEWEST_QUADS = 400_000_000, 6  # fewer quads are taken of kernels that take long
AGAIN = 2  # batches of a quad that are taken again at most, on average
FRESH_SETS, FRESH_PAIRS, FEWEST_PAIRS = 8, 40, 8
FRESH_S = 2.0  # for a case on a GPU, where fresh inputs take much longer than the calls
WAIT_MS = 60_000.0
TICKS = "cpu "


def time_both(session: RunnerCommand, a: str, b: str, order: str, quads: str, limit_ms: str) -> dict[str, Any]:
    """Time each case in both kernels. Returns the report of a process. Are they the same, it is the candidate."""
    with _only("b" if Path(a).read_bytes() == Path(b).read_bytes() else ""):
        return _timed(session, {"a": a, "b": b}, order, float(limit_ms), "timed", lambda work: _case(work, int(quads)))


def time_incumbent(session: RunnerCommand, a: str, b: str, order: str, quads: str, limit_ms: str) -> dict[str, Any]:
    """Do the same where both are the incumbent, which was accepted before: its results are not looked at."""
    with _only("a"):
        return _timed(
            session, {"a": a, "b": b}, order, float(limit_ms), "timed", lambda work: _case(work, int(quads), True)
        )


@contextlib.contextmanager
def _only(side: str) -> Iterator[None]:
    """Blame one side for each problem, as both have its kernel; none: as it is. Raises KernelProblem."""
    try:
        yield
    except KernelProblem as err:
        if side:
            err.report["who"] = SIDES[side]
        raise


def _timed(
    session: RunnerCommand,
    paths: dict[str, str],
    order: str,
    limit_ms: float,
    when: str,
    measure: Callable[[WorkerCase], dict[str, Any]],
) -> dict[str, Any]:
    """Measure each case in a worker with both kernels, `order` loaded first, while no other process of the job does.

    On a GPU the next process is loaded meanwhile, and results are judged when it may measure. Raises KernelProblem.
    """
    rng, kind, cases = random.Random(session.seed()), session.kinds[0], {}
    drawing = session.drawing(((case, kind, batching(session.gpu).bases) for case in session.harness.cases), rng)
    worker = session.worker({side: paths[side] for side in (order, *({"a", "b"} - {order}))})
    with session.turn():
        for case, drawn in zip(session.harness.cases, drawing, strict=True):
            work = WorkerCase(session, worker, case, kind, rng, limit_ms, drawn)
            try:
                cases[case] = measure(work)
            except KernelProblem as err:
                raise work.told(err, when) from err
        with session.marks.of("end"):
            worker.end()
    with session.marks.of("judge"):
        refuse_wrong(session.judging.verdicts(), when)
    return {"cases": cases, "problem": None, "spent": session.spent()}


def refuse_wrong(verdicts: Generator[CallVerdict], when: str = "timed") -> None:
    """Raise KernelProblem for the first result that is wrong."""
    with contextlib.closing(verdicts):
        for one in verdicts:
            if one.problem is not None:
                raise one.problem.at(one.case, one.kind, when)


def _case(work: WorkerCase, quads: int, trusted: bool = False) -> dict[str, Any]:
    with work.session.marks.of("ready"):
        calls, rounds = ready(work)
    count, how = len(calls.drawn), batching(work.worker.gpu)
    compared = dict.fromkeys("ab", 0.0) if trusted else how.compared
    first = [batch(work, calls, side, rounds, float(not trusted))[0] for side in "ab"]
    stolen = _stolen()
    times: dict[str, list[int]] = {"a": [], "b": []}
    lost = again = 0
    room = max(FEWEST_QUADS, CASE_NS // (4 * min(first)))
    wanted = min(quads, room, how.quads)
    while len(times["a"]) < 2 * wanted:
        # What comes first in a quad is slower by some permille.
        for side in "baab" if len(times["a"]) // 2 % 2 else "abba":
            spent, waited = batch(work, calls, side, rounds, compared[side])
            while waited > LOST_SHARE * spent and again < AGAIN * wanted:
                spent, waited = batch(work, calls, side, rounds, compared[side])
                again += 1
            times[side].append(spent)
            lost += waited
    report = {
        "reps": count * rounds, "a_ns": times["a"], "b_ns": times["b"], "steal_ticks": _stolen() - stolen,
        "threads": 1, "lost_ns": lost if lost > MOST_LOST * (sum(times["a"]) + sum(times["b"])) else 0,
    }  # fmt: skip
    return {**report, **_device(work.worker, count)} if work.worker.gpu else report


def ready(work: WorkerCase, most: int | None = None) -> tuple[CallSets, int]:
    """Lay out as many sets of inputs as a batch has calls; return them, and how often a batch calls each."""
    how = batching(work.worker.gpu)
    calls, bases = work.calls(), work.drawn.sets
    calls.fill(0, bases[0])
    calls.prepare(WAIT_MS)
    for side in "ab":
        calls.learn(side, work.limit_ms, work.rng)
    calls.refuse_other_kind()
    each = _about(calls, how.trial, work.limit_ms)
    room = how.room // calls.drawn[0].size
    wanted = max(1, round(how.ns / each))
    count = max(1, min(wanted, how.sets if most is None else most, room))
    in_place = any(name in calls.drawn[0].layouts for name in work.session.harness.outputs)
    for number in range(1, count):
        calls.fill(number, bases[number % how.bases])
    calls.prepare(WAIT_MS)
    return calls, 1 if in_place else max(1, round(wanted / count))


def _about(calls: CallSets, rounds: int, limit_ms: float) -> int:
    """Return about how many nanoseconds a call takes, from so many that they take longer than what is subtracted."""
    while True:
        calls.restore()
        spent = min(calls.run("a", 1, rounds, limit_ms)[1] for _ in range(3)) - calls.worker.idle_ns
        if spent > calls.worker.idle_ns or rounds >= MOST_TRIAL:
            return max(spent // rounds, 1)
        rounds *= 4


def batching(gpu: bool) -> Batching:
    """Return how calls are batched."""
    return GPU if gpu else CPU


def batch(work: WorkerCase, calls: CallSets, side: str, rounds: int, compared: float) -> tuple[int, int]:
    """Take one batch. Return its nanoseconds, and those beside in which other work had the CPU. Raises KernelProblem.

    What the process and this one waited is no time of the batch, as long as none of the kernel's threads had a CPU.
    """
    worker, count = work.worker, len(calls.drawn)
    calls.restore()
    calls.change(work.rng)
    before = worker.scheduled_ns()
    answer, spent = calls.run(side, count, rounds, work.limit_ms)
    waited, ran = (now - then for now, then in zip(worker.scheduled_ns(), before, strict=True))
    delayed = 0 if worker.gpu else min(waited, max(0, spent - ran))
    if work.rng.random() < compared:
        with work.session.marks.of("results"):
            compare(work, calls, side, answer, work.rng.randrange(count))
    return max(spent - delayed - worker.idle_ns, 1), delayed


def compare(work: WorkerCase, calls: CallSets, side: str, answer: dict[str, Any], number: int) -> None:
    """Have what one call of the last batch returned compared with the truth. Raises KernelProblem."""
    result = calls.result(side, answer, number)
    calls.unchanged(side, number)
    # The other kernel may have changed this one's inputs. A GPU tells only of this set.
    if side == "a" and not work.worker.gpu:
        for each in range(len(calls.drawn)):
            calls.unchanged("b", each)
    refuse_wrong(work.session.judging.add(result))


def fresh(session: RunnerCommand, a: str, b: str, order: str, span_ms: str, limit_ms: str) -> dict[str, Any]:
    """Time both kernels in batches in which each call has inputs that are wholly new. Returns the audit's report."""
    share = 1e6 * float(span_ms) / len(session.harness.cases)
    when = "the audit on fresh inputs"
    return _timed(session, {"a": a, "b": b}, order, float(limit_ms), when, lambda work: _fresh(work, share))


def _fresh(work: WorkerCase, share: float) -> dict[str, Any]:
    calls, _ = ready(work, FRESH_SETS)
    count, rng = len(calls.drawn), work.rng
    drawing = work.session.drawing([(work.case, work.kind, count)] * 2 * FRESH_PAIRS, rng)
    times: dict[str, list[int]] = {"a": [], "b": []}
    compared, spent = 0, 0.0
    until = time.monotonic() + FRESH_S if work.worker.gpu else math.inf
    while len(times["a"]) < FEWEST_PAIRS or (
        spent < share and len(times["a"]) < FRESH_PAIRS and time.monotonic() < until
    ):
        for side in rng.sample("ab", 2):
            for number, inputs in enumerate(next(drawing).sets):
                calls.fill(number, inputs)
            calls.prepare(WAIT_MS)
            looks = side == "b" and (not times["b"] or rng.random() < 0.3)
            taken, _ = batch(work, calls, side, 1, float(looks))
            compared += looks
            spent += taken
            times[side].append(taken)
    drawing.close()
    return {"reps": count, "compared": compared, "anew": True, "a_ns": times["a"], "b_ns": times["b"]}


def _device(worker: Worker, count: int) -> dict[str, Any]:
    """Return the time of a call on the device alone, for both sides, where both can be recorded as a graph."""
    try:
        found = [worker.ask(WAIT_MS, what="device", side=side, count=count).get("device_ns") for side in "ab"]
        return {} if None in found else {"device_ns": [float(one) for one in found]}  # type: ignore[arg-type]
    except (Failed, TypeError, ValueError):
        return {}


def _stolen() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
    return 0
