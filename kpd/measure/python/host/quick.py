"""Times two kernels on a GPU by the clock of their own process: three times as certain in the same time as by ours.

Only that clock can tell batches apart which the process takes without being asked for each. A kernel may have changed
it, so what it says may reject a candidate, and accepts none: `kpd.measure.judge` sees to that.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

from kpd.measure.python.host.batching import GPU, WarmCase, rounds_of
from kpd.measure.python.host.problems import Failed, blamed
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.timing import on_device, same, time_case, timed

NS = 1_000_000  # a batch takes about so long at least: half as long as one that this process times
LONG_NS = 1_500_000  # a call that takes longer is no quick one: what a batch takes besides is little then
QUADS, AT_ONCE = 48, 12  # of a case at most, and in a request: some inputs change before each
SLOWER = 1.05  # times as long as the incumbent: no more quads are taken where three in four are slower than that
Times = dict[str, list[int]]


def quick(session: RunnerCommand, a: str, b: str, order: str, quads: str, limit_ms: str) -> dict[str, Any]:
    """Time each case in both kernels. Returns the report of a process.

    Results are not compared: the check has done that, and so do the processes that accept. As there kernels are timed
    that overwrite their inputs, of which a second call would find what the first has made, those whose calls are long
    enough to be as certain by our clock, and all without a GPU.
    """
    with same(a, b):
        return timed(session, {"a": a, "b": b}, order, float(limit_ms), "timed", partial(_case, quads=int(quads)))


def _case(warm: WarmCase, quads: int) -> dict[str, Any]:
    if not is_quick(warm.work.session.gpu, warm.once, warm.each):
        return time_case(warm, quads)
    with warm.work.session.marks.of("ready"):
        rounds = rounds_of(warm)
    count, rounds = (warm.sets, round(rounds * NS / GPU.ns)) if rounds > 1 else (-(-warm.sets * NS // GPU.ns), 1)
    taken: Times = {"a": [], "b": []}
    host: Times = {"a": [], "b": []}
    while len(taken["a"]) < 2 * QUADS and not slower(taken):
        for side, batches in _asked(warm, count, rounds).items():
            taken[side] += [ns for ns, _ in batches]
            host[side] += [ns for _, ns in batches]
    report = {
        "reps": count * rounds, "a_ns": taken["a"], "b_ns": taken["b"], "steal_ticks": 0, "threads": 1, "quick": True,
        "host_ns": [median(host[side]) / (count * rounds) for side in "ab"],
    }  # fmt: skip
    return report | (on_device(warm.calls) if warm.work.session.explains else {})


def is_quick(gpu: bool, once: bool, each_ns: int) -> bool:
    """Return whether the kernels' own process times calls that take so long, `once` where they overwrite inputs."""
    return gpu and not once and each_ns <= LONG_NS


def _asked(warm: WarmCase, count: int, rounds: int) -> dict[str, list[tuple[int, int]]]:
    """Have some quads taken. Return for each batch its nanoseconds, and those on the host. Raises KernelProblem."""
    work, calls = warm.work, warm.calls
    calls.change(work.rng)
    with blamed("b"):
        said, spent = work.workers["b"].timed(
            work.limit_ms, what="quads", order="".join(work.workers), base=calls.base, count=count, rounds=rounds,
            many=AT_ONCE,
        )  # fmt: skip
        found = {side: [(ns, host) for ns, host in said[side]] for side in "ab"}
        every = [batch for batches in found.values() for batch in batches]
        if (
            {len(batches) for batches in found.values()} != {2 * AT_ONCE}
            or not all(type(ns) is type(host) is int and 0 <= host <= ns != 0 for ns, host in every)
            or sum(ns for ns, _ in every) > spent
        ):
            raise Failed("forged", "its process says that its batches took what they cannot have taken")
    return found


def slower(taken: Times) -> bool:
    """Return whether the candidate was slower than SLOWER in three of four quads: more of them would say the same."""
    a, b = taken["a"], taken["b"]
    times = [sum(b[at : at + 2]) / sum(a[at : at + 2]) for at in range(0, len(a), 2)]
    return 0 < 3 * len(times) <= 4 * sum(time > SLOWER for time in times)
