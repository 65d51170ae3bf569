"""Times two kernels in one process, A B B A, by the clock of this process, which no kernel can reach.

The kernels' process is stopped between two batches. Each call of a batch has inputs of its own, of which some elements
change before each batch; outputs of calls that nobody knows beforehand are compared with the truth.
"""

from __future__ import annotations

import contextlib
import fcntl
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kpd.measure.python.host.calling import CallSets, KernelProblem, wrong
from kpd.measure.python.host.process import Failed, Worker
from kpd.measure.python.host.session import ON_GPU, SHARED, RunnerCommand, WorkerCase


class Batching(NamedTuple):
    """How many batches, and of what: `ns` is about what one lasts, `sets` the inputs that it has at most.

    The harness draws the first `bases` of these; the others begin as one of them, with elements changed. The time of a
    call is told from one of so many as `trial` says. `compared` is the share of batches of which a result is compared.
    """

    ns: int
    sets: int
    bases: int
    trial: int
    quads: int
    compared: dict[str, float]


CPU = Batching(250_000, 64, 4, 1, 1 << 16, {"a": 0.02, "b": 0.12})
GPU = Batching(2_000_000, 32, 2, 8, 16, {"a": 0.02, "b": 0.06})  # the L2 is overwritten before a batch besides
LOST_SHARE = 0.2  # a batch during which other work had the CPU for longer is taken again
MOST_LOST = 10.0  # times that of all batches of a case: with more, caches tell of other work only
CASE_NS, FEWEST_QUADS = 400_000_000, 6  # fewer quads are taken of kernels that take long
AGAIN = 2  # batches of a quad that are taken again at most, on average
FRESH_SETS, FRESH_PAIRS, FEWEST_PAIRS = 8, 40, 8
WAIT_MS = 60_000.0
TICKS = "cpu "


def time_both(session: RunnerCommand, a: str, b: str, order: str, quads: str, limit_ms: str) -> dict[str, Any]:
    """Time each case in both kernels. Returns the report of a process."""
    rng = random.Random(session.seed())
    paths = {"a": a, "b": b}
    worker = session.worker({side: paths[side] for side in (order, *({"a", "b"} - {order}))})
    cases = {}
    with turn(worker.gpu):
        for case in session.harness.cases:
            work = WorkerCase(session, worker, case, session.kinds[0], rng, float(limit_ms))
            try:
                cases[case] = _case(work, int(quads))
            except KernelProblem as err:
                raise work.told(err, "timed") from err
    return {"cases": cases, "problem": None}


@contextlib.contextmanager
def turn(waits: bool) -> Iterator[None]:
    """Let only one process of the job run the block at a time; on a GPU the next one is loaded meanwhile."""
    with Path("turn").open("w") as file:
        if waits:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _case(work: WorkerCase, quads: int) -> dict[str, Any]:
    calls, rounds = ready(work)
    count, how = len(calls.drawn), batching(work.worker)
    first = [batch(work, calls, side, rounds, 1.0)[0] for side in "ab"]
    stolen = _stolen()
    times: dict[str, list[int]] = {"a": [], "b": []}
    lost = again = 0
    room = max(FEWEST_QUADS, CASE_NS // (4 * min(first)))
    wanted = min(quads, room, how.quads)
    while len(times["a"]) < 2 * wanted:
        # What comes first in a quad is slower by some permille.
        for side in "baab" if len(times["a"]) // 2 % 2 else "abba":
            spent, waited = batch(work, calls, side, rounds, how.compared[side])
            while waited > LOST_SHARE * spent and again < AGAIN * wanted:
                spent, waited = batch(work, calls, side, rounds, how.compared[side])
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
    worker, how = work.worker, batching(work.worker)
    calls = work.calls()
    calls.fill(0, work.draw())
    calls.prepare(WAIT_MS)
    for side in "ab":
        calls.learn(side, work.limit_ms, work.rng)
    calls.refuse_other_kind()
    spent = []
    for _ in range(5):
        calls.restore()
        spent.append(calls.run("a", 1, how.trial, work.limit_ms)[1] - worker.idle_ns)
    each = max(min(spent) // how.trial, 1)
    room = (ON_GPU if worker.gpu else SHARED) // 2 // calls.drawn[0].size
    wanted = max(1, round(how.ns / each))
    count = max(1, min(wanted, how.sets if most is None else most, room))
    in_place = any(name in calls.drawn[0].layouts for name in work.session.harness.outputs)
    for number in range(1, count):
        calls.fill(number, work.draw() if number < how.bases else calls.drawn[number % how.bases])
    calls.prepare(WAIT_MS)
    return calls, 1 if in_place else max(1, round(wanted / count))


def batching(worker: Worker) -> Batching:
    """Return how a worker's calls are batched."""
    return GPU if worker.gpu else CPU


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
        compare(work.session, calls, side, answer, work.rng.randrange(count))
    return max(spent - delayed - worker.idle_ns, 1), delayed


def compare(session: RunnerCommand, calls: CallSets, side: str, answer: dict[str, Any], number: int) -> None:
    """Compare what one call of the last batch returned with the truth. Raises KernelProblem."""
    outputs = calls.outputs(side, answer, number)
    calls.unchanged(side, number)
    output, verdict = calls.judge(side, outputs, number, session.rule, session.harness.truth(calls.values(number)))
    if verdict.worst <= 1.0:
        return
    if side == "a":  # the other kernel may have changed the inputs of this one
        for each in range(len(calls.drawn)):
            calls.unchanged("b", each)
    raise wrong(side, output, verdict)


def fresh(session: RunnerCommand, a: str, b: str, order: str, span_ms: str, limit_ms: str) -> dict[str, Any]:
    """Time both kernels in batches in which each call has inputs that are wholly new. Returns the audit's report."""
    rng = random.Random(session.seed())
    paths = {"a": a, "b": b}
    worker = session.worker({side: paths[side] for side in (order, *({"a", "b"} - {order}))})
    share = 1e6 * float(span_ms) / len(session.harness.cases)
    cases = {}
    with turn(worker.gpu):
        for case in session.harness.cases:
            work = WorkerCase(session, worker, case, session.kinds[0], rng, float(limit_ms))
            try:
                cases[case] = _fresh(work, share)
            except KernelProblem as err:
                raise work.told(err, "the audit on fresh inputs") from err
    return {"cases": cases, "problem": None}


def _fresh(work: WorkerCase, share: float) -> dict[str, Any]:
    calls, _ = ready(work, FRESH_SETS)
    count, rng = len(calls.drawn), work.rng
    times: dict[str, list[int]] = {"a": [], "b": []}
    compared, spent = 0, 0.0
    while len(times["a"]) < FEWEST_PAIRS or (spent < share and len(times["a"]) < FRESH_PAIRS):
        for side in rng.sample("ab", 2):
            for number in range(count):
                calls.fill(number, work.draw())
            calls.prepare(WAIT_MS)
            looks = side == "b" and (not times["b"] or rng.random() < 0.3)
            taken, _ = batch(work, calls, side, 1, float(looks))
            compared += looks
            spent += taken
            times[side].append(taken)
    return {"reps": count, "compared": compared, "anew": True, "a_ns": times["a"], "b_ns": times["b"]}


def run(session: RunnerCommand, kernel: str, calls: str) -> dict[str, Any]:
    """Call a kernel so many times in each case, for a profiler."""
    worker = session.worker({"a": kernel})
    for case in session.harness.cases:
        work = WorkerCase(session, worker, case, session.kinds[0], random.Random(1), WAIT_MS)
        one = work.calls()
        one.fill(0, work.draw())
        one.prepare(WAIT_MS)
        one.run("a", 1, int(calls), WAIT_MS)
    return {}


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
