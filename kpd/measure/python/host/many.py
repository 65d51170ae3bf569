"""Calls a kernel on as many new inputs as there is time for, at a small size, and compares each result with the truth.

What is wrong for one input of thousands is in no check, which has some hundred. At a small size a call and its truth
take some dozen microseconds, and inputs are put together by the thousand from numbers of some that were drawn. The
arrays of which they are the content are made anew again and again, elsewhere in memory: who is quick for the first ones
only is found, too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.batching import STEP, STEPS, delayed_by_others
from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.cases import AT_ONCE, COMPILE_MS, WorkerCase, busy_s
from kpd.measure.python.host.compare import HOPELESS, compare
from kpd.measure.python.host.harness import CaseInputs, Inputs, Limit
from kpd.measure.python.host.judging import judged, wrong
from kpd.measure.python.host.mixed import Mixtures, mixable
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.sizes import size_name, work as size_of
from kpd.measure.python.host.truths import Oracle, Truth
from kpd.measure.python.host.watched import scheduled_ns

LEAST, MOST = 16, 32  # of a dim of a size that is drawn
DRAWN, DRAWN_ELEMENTS = 64, 1 << 19  # inputs of which the others are put together, or fewer
SETS, SETS_BYTES, TRIAL = 64, 4 << 20, 2  # of a batch, or fewer; and of one that tells how long it takes
LONGER = 3  # times as long as it should, where others have the CPU
AGAIN = 8  # batches on the same arrays
FAR = 4.0  # times as far from the truth as the task's own kernel, as in native/renewed.c
FEWEST, LEFT_OUT, MOST_TIMES = 8, 2, 2.0  # batches; the longest ones; times as long on average as the quicker ones


class ManyInputs:
    """Inputs of a batch, one after another, whose content is new each time."""

    def __init__(self, drawn: Sequence[Inputs], rng: random.Random, count: int) -> None:
        import numpy

        self.mixed = Mixtures(drawn, rng).arrays
        self.rng = numpy.random.default_rng(rng.getrandbits(128))
        self.count = count
        self.sets = [drawn[number % len(drawn)] for number in range(count)]
        self.content = numpy.frombuffer(b"".join(one.content for one in self.sets), "uint8").copy()

    def renew(self) -> None:
        """Draw the numbers of all arrays from those of the same one."""
        rows = self.content.reshape(self.count, -1)
        for one in self.mixed:
            layout, from_ = one.layout, self.rng.integers(0, len(one.numbers), (self.count, one.many))
            rows[:, layout.offset : layout.offset + layout.span].view(one.numbers.dtype)[...] = one.numbers[from_]

    def one(self, number: int) -> Inputs:
        """Return one of them."""
        return Inputs(self.sets[number].layouts, bytearray(self.content.reshape(self.count, -1)[number]))

    def values(self) -> list[dict[str, Any]]:
        """Return the arguments of each, made of a copy: a view of all is made once."""
        memory, size = memoryview(bytearray(self.content)), self.sets[0].size
        whole = {name: arrays.rebuilt(_stacked(one, self.count, size), memory) for name, one in self._layouts()}
        return [
            {name: _part(whole[name], layout, number) for name, layout in one.layouts.items()}
            for number, one in enumerate(self.sets)
        ]

    def _layouts(self) -> list[tuple[str, Any]]:
        return list(self.sets[0].layouts.items())


def _stacked(value: Any, count: int, size: int) -> Any:
    """Return the layout of as many arrays as one, each of which begins `size` bytes after the one before."""
    if isinstance(value, Layout):
        return value._replace(shape=(count, *value.shape), strides=(size // value.itemsize, *value.strides))
    return type(value)(_stacked(one, count, size) for one in value) if type(value) in (list, tuple) else value


def _part(whole: Any, value: Any, number: int) -> Any:
    if isinstance(value, Layout):
        return whole[number, ...]
    if type(value) in (list, tuple):
        return type(value)(_part(*pair, number) for pair in zip(whole, value, strict=True))
    return value


def drawn_of(session: RunnerCommand, case: str) -> int:
    """Return how many inputs of a case are to be drawn."""
    return max(AT_ONCE, min(DRAWN, DRAWN_ELEMENTS // size_of(session.harness.cases[case])))


def small(session: RunnerCommand, rng: random.Random) -> str:
    """Return the least case, or a smaller one that is made with a size that is drawn, where these may be any."""
    cases, limits = session.harness.cases, session.harness.limits
    near = min(cases, key=lambda case: size_of(cases[case]))
    dims = {
        dim: limits.get(dim, Limit()).nearest(rng.randint(LEAST, MOST)) if size > 0 else size
        for dim, size in cases[near].items()
    }
    allowed = all(size > 0 or cases[near][dim] <= 0 for dim, size in dims.items())
    any_size = session.settings.get("sizes") == "any" and not session.rule.bounds and allowed
    if not any_size or size_of(dims) >= size_of(cases[near]):
        return near
    name = size_name(dims)
    cases.setdefault(name, dims)
    return name


def many(work: WorkerCase, share_s: float) -> int:
    """Call the kernel on new inputs for so many seconds of a CPU; return how often. Raises KernelProblem.

    `work` has some that were drawn. Not where they are more than arrays of floats: those are no mixtures. Nor where
    they are large, or all but the kernel takes too long: its own time does not count, as it could choose that.
    """
    if work.drawn.sets[0].size > SETS_BYTES or not mixable(work.drawn.sets, work.session.harness.fixed):
        return 0
    calls, inputs = _laid(work, TRIAL)
    for _ in range(2):  # the first calls take longer
        begun = time.monotonic()
        spent_s = _batch(work, calls, inputs) / 1e9
        each_s = (time.monotonic() - begun) / TRIAL
        if FEWEST * (each_s - spent_s / TRIAL) > LONGER * share_s:
            return 0
    most = min(int(share_s / (2 * FEWEST * each_s)), SETS_BYTES // calls.drawn[0].size)
    calls, inputs = _laid(work, max(1, min(SETS, most)))
    until, late, taken = busy_s(work.workers["b"]) + share_s, time.monotonic() + LONGER * share_s, list[int]()
    while len(taken) < FEWEST or (busy_s(work.workers["b"]) < until and time.monotonic() < late):
        if len(taken) % AGAIN == 0:
            calls.base = STEP * work.rng.randrange(STEPS)
            calls.prepare(COMPILE_MS, anew=True)
        taken.append(_batch(work, calls, inputs))
    _refuse_longer(taken)
    return len(taken) * inputs.count


def _laid(work: WorkerCase, count: int) -> tuple[CallSets, ManyInputs]:
    """Lay out so many inputs; what the kernel returns for them is known then. Raises KernelProblem."""
    calls, inputs = work.calls(), ManyInputs(work.drawn.sets, work.rng, count)
    for number, one in enumerate(inputs.sets):
        calls.fill(number, one)
    calls.prepare(COMPILE_MS, anew=True)
    calls.learn("b", work.limit_ms, work.rng)
    return calls, inputs


def _batch(work: WorkerCase, calls: CallSets, inputs: ManyInputs) -> int:
    """Call the kernel on new inputs, and compare what it returns. Return the nanoseconds. Raises KernelProblem."""
    inputs.renew()
    spent = _called(work, calls, inputs)
    found = _wrong(work, calls, inputs)
    if found is not None and far(found[1], own_worst(work, inputs.one(found[0]))):
        raise found[1]
    return spent


def _called(work: WorkerCase, calls: CallSets, inputs: ManyInputs) -> int:
    """Call the kernel on all of them once, and return the nanoseconds. Raises KernelProblem."""
    worker, size = work.workers["b"], inputs.content.size
    worker.memory[calls.base : calls.base + size] = inputs.content.data
    before = scheduled_ns(worker.pid)
    _, spent = calls.run("b", inputs.count, 1, inputs.count * work.limit_ms)
    waited, ran = (now - then for now, then in zip(scheduled_ns(worker.pid), before, strict=True))
    if not calls.in_place and worker.memory[calls.base : calls.base + size] != inputs.content.data:
        for number in range(inputs.count):
            calls.private[number] = inputs.one(number).content
            calls.unchanged("b", number)
    return spent - delayed_by_others(spent, waited, ran, worker.own_ns)


def _wrong(work: WorkerCase, calls: CallSets, inputs: ManyInputs) -> tuple[int, KernelProblem] | None:
    """Compare what the last batch returned. Return the call with the worst element if that is wrong, and what it is."""
    import numpy

    session, count = work.session, inputs.count
    truths, worst = _truths(work, inputs), list[tuple[float, int, KernelProblem]]()
    for name, (layout, data) in calls.all_outputs("b", count).items():
        whole = _stacked(layout._replace(offset=0), count, layout.span)
        got: Any = arrays.numbers(whole, b"".join(data)).reshape(count, -1)
        want: Any = numpy.stack([numpy.asarray(one.want[name]) for one in truths])
        scale: Any = numpy.stack([one.scales[name] for one in truths]) if name in truths[0].scales else None
        spread = max(one.spread.get(name, 0.0) for one in truths)
        if got.shape != want.shape:
            message = f"{name} has {got.shape[1]} elements, but should have {want.shape[1]}"
            return 0, KernelProblem("raised", "b", message)
        together = 1 if session.rule.kind == "norm" else count  # a norm is one of a call's
        for first in range(0, count, together):
            part = slice(first, first + together)
            of = None if scale is None or session.rule.kind != "scaled" else scale[part].reshape(-1)
            at = (work.case, work.kind, name)
            found = compare(session.rule, layout, got[part].reshape(-1), want[part].reshape(-1), at, of, spread)
            if not found.worst <= 1.0:
                number, element = divmod(found.element, got.shape[1])
                worst.append((found.worst, first + number, wrong("b", name, found._replace(element=element))))
    return max(worst, key=lambda one: one[0])[1:] if worst else None


def _truths(work: WorkerCase, inputs: ManyInputs) -> list[Truth]:
    truth, harness = work.session.truth, work.session.harness
    if not isinstance(truth, Oracle):
        return [truth.of(work.case, work.kind, inputs.one(number)) for number in range(inputs.count)]
    found = [harness.truth(one) for one in inputs.values()]
    scales = [harness.scales_of(one) for one in inputs.values()] if harness.scaled else [{}] * inputs.count
    return [Truth(want, scale, {}) for want, scale in zip(found, scales, strict=True)]


def far(problem: KernelProblem, own: float | None) -> bool:
    """Return whether a kernel is to blame: it is far further from the truth than the task's own, which is right.

    `own` is how many tolerances that is off on the same inputs; None where there is none to ask.
    """
    worst = float(problem.report.get("multiple", HOPELESS))
    return worst > FAR if own is None else own <= 1.0 and worst > FAR * own


def own_is_right(work: WorkerCase, inputs: Inputs) -> bool:
    """Return whether the task's own kernel is right on these inputs; also where there is none to ask."""
    return (found := own_worst(work, inputs)) is None or found <= 1.0


def own_worst(work: WorkerCase, inputs: Inputs) -> float | None:
    """Return how many tolerances the task's own kernel is off on these inputs; None where there is none to ask."""
    session = work.session
    try:
        if (worker := session.own()) is None:
            return None
        drawn = CaseInputs([inputs], work.drawn.counts)
        own = WorkerCase(session, {"b": worker}, work.case, work.kind, work.rng, work.limit_ms, drawn)
        found = [judged(session.truth, session.rule, one) for one in own.results()]
        return max(one.worst.worst if one.problem is None else HOPELESS for one in found)
    except KernelProblem:
        return HOPELESS


def _refuse_longer(taken: Sequence[int]) -> None:
    """Refuse a kernel whose batches take far longer on average than the quicker ones. Raises KernelProblem."""
    kept = sorted(taken)[:-LEFT_OUT]
    if (times := fmean(kept) / kept[len(kept) // 4]) > MOST_TIMES:
        message = f"it takes {times:.1f} times as long on average as in its quicker calls: some take very long"
        raise KernelProblem("raised", "b", message)
