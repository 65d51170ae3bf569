"""Lays out the calls of a batch, and takes batches: how many calls, on which inputs, and which results are compared."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kpd.measure.python.host import arrays
from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.cases import WorkerCase
from kpd.measure.python.host.gathered import DeviceMixtures, on_device
from kpd.measure.python.host.judging import refuse_wrong
from kpd.measure.python.host.marks import RequestCost
from kpd.measure.python.host.mixed import Mixtures, mixable
from kpd.measure.python.host.problems import blamed
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.watched import scheduled_ns


class Batching(NamedTuple):
    """How many batches, and of what: `ns` is about what one lasts at least, `sets` the inputs that it has at most.

    These take about `room` bytes; 0: what the device says (`CudaDevice.room`). The harness draws the first `bases` of
    these; the others begin as one of them, with elements changed. The time of a call is told from `trial` calls or
    more. `compared` is the share of batches of which a result is compared.
    """

    ns: int
    sets: int
    room: int
    bases: int
    trial: int
    quads: int
    compared: dict[str, float]


CPU = Batching(250_000, 64, 48 << 20, 2, 1, 1 << 16, {"a": 0.02, "b": 0.12})
# Before a batch the L2 is overwritten besides.
GPU = Batching(2_000_000, 32, 0, 2, 8, 16, {"a": 0.06, "b": 0.06})
MOST_TRIAL = 1 << 12
FRESH_SETS = 8
# What a worker's part of a request takes is at most such a share of a batch without a GPU: a kernel that answers by
# itself saves a part of it.
OWN_SHARE = 50
FASTER = 4  # times that a candidate's calls may be faster, for its batches to last as long as others
ONCE = 8  # times as many sets, where each can be called only once as kernels overwrite them
WAIT_MS = 60_000.0
STEP, STEPS = arrays.ALIGNED, 64  # where arrays that are made anew may begin
EARLY = 512 << 20  # bytes of inputs of all cases that are laid out before anything is timed
MOST_MIXED = 1 << 30  # bytes of inputs of which mixtures are made


class WarmCase(NamedTuple):
    """A case whose kernels have been called: what they return is known.

    A call takes about `each` nanoseconds, and a batch has `sets` of inputs. Where fresh ones are `mixtures` that a
    device makes, these can be made.
    """

    work: WorkerCase
    calls: CallSets
    each: int
    sets: int
    mixtures: DeviceMixtures | None = None

    @property
    def bytes(self) -> int:
        """What its inputs take of the shared memory."""
        return -(-self.sets * self.calls.drawn[0].size // mmap.PAGESIZE) * mmap.PAGESIZE

    @property
    def once(self) -> bool:
        """Whether kernels overwrite their inputs: a second call's would be what the first has made of them."""
        return any(name in self.calls.drawn[0].layouts for name in self.work.session.harness.outputs)


class Batch(NamedTuple):
    """A batch: its nanoseconds, those beside in which other work had the CPU, and those of its calls on the host.

    The last are what the worker says, and 0 where it says nothing. `probed_ns` is what this process waited for the
    device after the answer, 0 where it did not. Was a result looked at, it is `compared`: the kernels rested meanwhile.
    `known` says whether the result's memory was, so that there was something to compare.
    """

    ns: int
    waited: int
    host_ns: int
    probed_ns: int
    compared: bool
    known: bool


def batching(gpu: bool) -> Batching:
    """Return how calls are batched."""
    return GPU if gpu else CPU


def batch_ns(gpu: bool, request: RequestCost) -> int:
    """Return how long a batch lasts at least, which takes so much beside its calls."""
    return GPU.ns if gpu else max(CPU.ns, OWN_SHARE * request.own_ns)


def warmed(work: WorkerCase, fresh: bool) -> WarmCase:
    """Call both kernels for the first time: they may compile. Raises KernelProblem.

    A batch has fewer sets of inputs where all are `fresh` in each: a kernel may look at those of later calls. Not where
    a device makes them: then such a batch is as the others of a contest.
    """
    how, calls = batching(work.session.gpu), work.calls()
    calls.fill(0, work.drawn.sets[0])
    calls.prepare(WAIT_MS)
    for side in work.workers:
        calls.learn(side, work.limit_ms, work.rng)
    calls.refuse_other_kind()
    warm = WarmCase(work, calls, _about(calls, how.trial, work.limit_ms), 1)
    worker, most = work.workers["a"], how.sets * (ONCE if warm.once else 1)
    fitting = -(-(how.room or worker.device.room) // calls.drawn[0].size)
    if fresh and device_mixes(work):
        warm = warm._replace(mixtures=DeviceMixtures(worker.device, Mixtures(work.unseen, work.rng)))
    elif fresh:
        most = min(FRESH_SETS, max(1, round(worker.request(1).ns / warm.each)))
    wanted = round(batch_ns(worker.gpu, worker.request(1)) / warm.each)
    return warm._replace(sets=max(1, min(wanted, most, fitting)))


def mixes(work: WorkerCase) -> bool:
    """Return whether fresh inputs of a case are mixtures: to make these is quick."""
    few = sum(one.size for one in work.unseen) < MOST_MIXED
    return few and mixable([*work.unseen, *work.drawn.sets], work.session.harness.fixed)


def device_mixes(work: WorkerCase) -> bool:
    """Return whether a device can make these."""
    return work.session.gpu and mixes(work) and on_device(work.drawn.sets, work.session.harness.outputs)


def _about(calls: CallSets, rounds: int, limit_ms: float) -> int:
    """Return about how many nanoseconds a call of the incumbent takes.

    It is told from so many calls that they take longer than what is subtracted; the candidate is called as often.
    """
    while True:
        each = {}
        for side in calls.workers:
            calls.restore()
            each[side] = _trial(calls, side, 1, rounds, limit_ms)
        spent = each["a"]
        if spent > calls.workers["a"].request(1).ns or rounds >= MOST_TRIAL:
            return max(spent // rounds, 1)
        rounds *= 4


def _trial(calls: CallSets, side: str, count: int, rounds: int, limit_ms: float) -> int:
    spent = min(calls.run(side, count, rounds, limit_ms)[1] for _ in range(3))
    return without_request(calls.workers[side], count, spent)


def without_request(worker: Worker, count: int, spent: int) -> int:
    """Return what is left of a batch's nanoseconds without the request: at least half, as no two cost the same.

    Without that bound, batches shorter than a disturbed request would have no time at all, and a gain no limit.
    """
    return max(spent - worker.request(count).ns, spent // 2, 1)


def laid_early(cases: Sequence[WarmCase], when: str) -> bool:
    """Lay out the inputs of all cases, if they are not too many. Return whether they are laid. Raises KernelProblem."""
    if (size := sum(case.bytes for case in cases)) > EARLY:
        return False
    for lent in {worker.lent for case in cases for worker in case.work.workers.values()}:
        if lent:
            lent.pin(size)
    base = 0
    for case in cases:
        with case.work.blamed(when), case.work.session.marks.of("lay"):
            lay_out(case, base)
        base += case.bytes
    return True


def lay_out(warm: WarmCase, base: int) -> None:
    """Lay the inputs of a case into shared memory, from `base` on. Raises KernelProblem."""
    bases = warm.work.drawn.sets
    warm.calls.base = base
    for number in range(1, warm.sets):
        warm.calls.fill(number, bases[number % len(bases)])
    warm.calls.prepare(WAIT_MS)


def rounds_of(warm: WarmCase) -> int:
    """Return how often a batch calls each set of inputs. Raises KernelProblem."""
    if warm.once:
        return 1
    worker = warm.work.workers["a"]
    wanted = batch_ns(worker.gpu, worker.request(warm.sets))
    each = {side: _trial(warm.calls, side, warm.sets, 1, warm.work.limit_ms) for side in warm.calls.workers}
    return max(1, round(wanted / max(min(each.values()), each["a"] / FASTER)))


def batch(
    work: WorkerCase,
    calls: CallSets,
    side: str,
    rounds: int,
    compared: float,
    probed: float = 0.0,
    shown: Callable[[int], None] | None = None,
    sets: int | None = None,
) -> Batch:
    """Take one batch, of such shares of which a result is compared, and the device is probed. Raises KernelProblem.

    It has calls on the first `sets`; None: on all. Are its inputs wholly new, a set that is compared is `shown` first;
    else some elements change. What the process and this one waited for others is no time of the batch.
    """
    worker, count = work.workers[side], len(calls.drawn[:sets])
    if shown is None:
        if not worker.gpu:  # there a change writes all anew
            calls.restore()
        calls.change(work.rng)
    before, drawn = scheduled_ns(worker.pid), work.rng.random()
    looks, probes = drawn < compared, worker.gpu and drawn < max(compared, probed)
    answer, spent = calls.run(side, count, rounds, work.limit_ms, probes)
    waited, ran = (now - then for now, then in zip(scheduled_ns(worker.pid), before, strict=True))
    delayed = 0 if worker.gpu else delayed_by_others(spent, waited, ran, worker.own_ns)
    known = False
    if looks:
        with work.session.marks.of("results"):
            number = work.rng.randrange(count)
            if shown is not None:
                shown(number)
            known = compare(work, calls, side, number)
    else:
        calls.follow(side)
    with blamed(side):
        said = answer["at"][-1] if worker.gpu else 0
        host = said if type(said) is int and 0 <= said <= spent else 0
    left = without_request(worker, count, spent - delayed)
    return Batch(left, delayed, host, worker.probed_ns if probes else 0, looks, known)


def delayed_by_others(spent: int, waited: int, ran: int, own: int) -> int:
    """Return for how much of a batch's nanoseconds others had the CPU that its process and this one `waited` for.

    It is no more than what is left without those in which threads of that process `ran`, and this one had the CPU of
    its `own`: a process can wait as long as it likes while this one reads its answer.
    """
    return min(waited, max(0, spent - ran - own))


def compare(work: WorkerCase, calls: CallSets, side: str, number: int) -> bool:
    """Have what a call of the last batch returned compared with the truth. Raises KernelProblem.

    Return whether its memory was known, so that it could be read.
    """
    result = calls.result(side, number)
    calls.unchanged(side, number)
    calls.looked(side, result is not None)
    if result is not None:
        if work.holds:
            calls.hold(side, number, result)
        if side not in work.trusted:
            refuse_wrong(work.session.judging.add(result))
    return result is not None
