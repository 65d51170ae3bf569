"""Lays sets of inputs into shared memory, calls a kernel on them, and judges what it returns."""

from __future__ import annotations

import contextlib
import math
import random
from typing import Any

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.harness import HarnessError, Inputs, PythonHarness, changed
from kpd.measure.python.host.held import HeldResults
from kpd.measure.python.host.problems import KernelProblem, blamed
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.results import ASKED_MS, ELSEWHERE, CallOutput, CallResult, ResultMemory, ReturnedArray

TRIES = 5  # of calls, for results in memory that is known
AGAIN_NS = 100_000_000  # of calls before those that are compared
CHANGES = 2  # elements of each input that change before a batch


class CallSets:
    """Sets of inputs of one case and kind, in the memory of each worker, which gets each as a call's arguments.

    `workers` are those of the sides: two, or one with both kernels. This process has its own copy of each set: it gives
    the truth, and shows what a kernel wrote where it must not. `counts` are the elements that each output must have,
    where they are known. `base` is where the sets begin in those memories. On a GPU each change is written as a whole.
    """

    def __init__(
        self, harness: PythonHarness, workers: dict[str, Worker], case: str, kind: str, counts: dict[str, int]
    ) -> None:
        self.harness, self.workers, self.case, self.kind, self.counts = harness, workers, case, kind, counts
        self.owners = {workers[side]: side for side in sorted(workers)}  # each once; of both sides the candidate's
        self.base = 0
        self.drawn: list[Inputs] = []
        self.private: list[bytearray] = []
        self.changing: list[list[tuple[int, int, int]]] = []  # offset, bytes and number of elements, by set and array
        self.called: set[str] = set()
        self.known: dict[str, list[ReturnedArray]] = {}
        self.memories = {side: ResultMemory(worker) for side, worker in workers.items()}
        self.held = {side: HeldResults(side, memory) for side, memory in self.memories.items()}
        self.places: dict[str, list[int]] = {}  # where the results of a side's last batch lie

    def at(self, number: int) -> int:
        """Return where a set begins in the shared memory."""
        return self.base + number * self.drawn[0].size

    def fill(self, number: int, inputs: Inputs, given: bool = False) -> None:
        """Make `inputs` the content of set `number`; a new set is the next one. What is `given` is not copied."""
        if self.drawn and inputs.size != self.drawn[0].size:
            raise HarnessError(f"harness.py: the inputs of case {self.case} have other sizes in each call")
        room = min(worker.size for worker in self.owners)
        if self.base + (number + 1) * inputs.size > room:
            raise HarnessError(f"harness.py: the inputs of case {self.case} need more than {room >> 20} MiB")
        leaves = changed(inputs, self.harness.fixed)
        changing = [(leaf.offset, leaf.itemsize, leaf.span // leaf.itemsize) for leaf in leaves]
        content = inputs.content if given else bytearray(inputs.content)
        if number == len(self.drawn):
            self.drawn.append(inputs)
            self.private.append(content)
            self.changing.append(changing)
        else:
            self.drawn[number], self.private[number], self.changing[number] = inputs, content, changing

    def write(self) -> None:
        """Write all sets to the memory that the kernels read, as they are here."""
        for worker in self.owners:
            with worker.marks.of("write"):
                for number, content in enumerate(self.private):
                    worker.memory[self.at(number) : self.at(number + 1)] = content
        self._lend()

    @property
    def in_place(self) -> bool:
        """Whether a kernel overwrites its arguments."""
        return any(name in self.drawn[0].layouts for name in self.harness.outputs)

    def restore(self) -> None:
        """Write all sets anew, where a kernel overwrites its arguments."""
        if self.in_place:
            self.write()

    def prepare(self, limit_ms: float) -> None:
        """Have each worker make arguments of all sets, and write their content only then. Raises KernelProblem.

        One that has made them already is not asked again: it could get ready then for calls that are timed next.
        """
        size = self.drawn[0].size
        sets = [
            [arrays.told(_moved(layout, self.at(number))) for layout in inputs.layouts.values()]
            for number, inputs in enumerate(self.drawn)
        ]
        for worker, side in self.owners.items():
            if worker.laid.get(self.base) == sets:
                continue
            handle = worker.lent.lend(self.base, len(sets) * size) if worker.lent else ""
            with blamed(side):
                worker.ask(limit_ms, what="prepare", base=self.base, sets=sets, size=size, handle=handle)
            worker.laid[self.base] = sets
        self.write()

    def change(self, rng: random.Random) -> None:
        """Give some elements of each set the values of others, here and in the memory that the kernels read."""
        memories = [worker.memory for worker in self.owners]
        drawn = iter(memoryview(rng.randbytes(8 * CHANGES * sum(map(len, self.changing)))).cast("I"))
        places: list[int] = []
        for number, content in enumerate(self.private):
            at = self.at(number)
            for offset, width, many in self.changing[number]:
                for _ in range(CHANGES):
                    to = offset + (next(drawn) * many >> 32) * width
                    source = offset + (next(drawn) * many >> 32) * width
                    content[to : to + width] = piece = content[source : source + width]
                    for memory in memories:
                        memory[at + to : at + to + width] = piece
                    places.append(at + to)
        self._lend(places)

    def _lend(self, changed: list[int] | None = None) -> None:
        """Have the content of all sets on the device, if there is one. NumPy's arrays stay in shared memory.

        `changed` are the places at which it is other than before: None is all.
        """
        for worker in self.owners:
            if worker.lent is None:
                continue
            with worker.marks.of("refresh"):
                worker.lent.write(self.base, self.at(len(self.private)) - self.base, changed)
                for start, end in self._on_host():
                    worker.shared[start:end] = worker.memory[start:end]

    def _on_host(self) -> list[tuple[int, int]]:
        """Return where those arrays of all sets begin and end that no device has."""
        leaves = [leaf for layout in self.drawn[0].layouts.values() for leaf in arrays.leaves(layout)]
        spans = [(leaf.offset, leaf.offset + leaf.span) for leaf in leaves if leaf.lib != "torch"]
        return [(self.at(at) + start, self.at(at) + end) for at in range(len(self.drawn)) for start, end in spans]

    def run(
        self, side: str, count: int, rounds: int, limit_ms: float, probes: bool = False
    ) -> tuple[dict[str, Any], int]:
        """Call a kernel on the first `count` sets. Return the answer, and the nanoseconds. Raises KernelProblem."""
        known, worker = side in self.called, self.workers[side]
        if not known:  # it may compile
            limit_ms = max(limit_ms, worker.first_ms)
        self.called.add(side)
        with blamed(side), contextlib.nullcontext() if known else worker.marks.of("first"):
            asked = {"side": side, "base": self.base, "count": count, "rounds": rounds}
            answer, spent = worker.timed(limit_ms, heard=not known, probes=probes, what="run", **asked)
            self.places[side] = answer["at"][:-1] if worker.gpu else answer["at"]  # the last is none
        return answer, spent

    def results(self, side: str, count: int, limit_ms: float) -> list[CallResult]:
        """Call a kernel on the first `count` sets, and return what came of each call. Raises KernelProblem."""
        for _ in range(TRIES):
            self.restore()
            self.run(side, count, 1, count * limit_ms)
            found = [self.result(side, number) for number in range(count)]
            if all(found):
                return [one for one in found if one]
        raise KernelProblem("raised", side, ELSEWHERE)

    def hold(self, side: str, number: int, result: CallResult) -> None:
        """Have the worker hold what call `number` of the last batch returned. Raises KernelProblem.

        Not what lies in the inputs, which change.
        """
        known, names = self.known[side], self._returned()
        places = self.places[side][number * len(known) : (number + 1) * len(known)]
        with blamed(side):
            beside = self.memories[side].beside(known, places, self.base, self.at(len(self.drawn)))
            data = [result.outputs[names[at]].data for at in beside]
            self.held[side].add(self.base, number, [known[at] for at in beside], [places[at] for at in beside], data)

    def looked(self, side: str, known: bool) -> None:
        """Note that a result was looked for, and whether its memory was known. Raises KernelProblem."""
        with blamed(side):
            self.memories[side].looked(known)

    def follow(self, side: str) -> None:
        """Learn where a batch's results lie at which nobody looks, if the last look missed. Raises KernelProblem.

        A kernel may take memory for several results at once, and other memory at a new step: looks are seldom.
        """
        if self.memories[side].missed:
            with blamed(side):
                self.memories[side].share(self.known[side], self.places[side])

    def device_ns(self, side: str) -> float:
        """Return the time of a call on a GPU, as the worker says. Raises Failed, and ValueError for a bad answer."""
        self.workers[side].opened.close()  # torch gives back what no tensor has before it records a graph
        asked = {"what": "device", "side": side, "base": self.base, "count": len(self.drawn)}
        said = self.workers[side].ask(ASKED_MS, **asked).get("device_ns")
        if type(said) is not float or not 0 < said < math.inf:
            raise ValueError("no time of a call on the device")
        return said

    def learn(self, side: str, limit_ms: float, rng: random.Random, times: int = 1) -> None:
        """Call a kernel on changed inputs, for the layouts of what it returns. Raises KernelProblem.

        So many `times`, or as often as it can within AGAIN_NS after its second call: the first one may compile.

        Where the result of a later call lies, its answer tells, while the clock runs: without a GPU no more is asked.
        """
        kept = [bytearray(content) for content in self.private]
        self.change(rng)
        self.run(side, 1, 1, limit_ms)
        if times > 1:
            _, spent = self.run(side, 1, 1, limit_ms)
            if more := min(times - 2, AGAIN_NS // max(spent, 1)):
                self.run(side, 1, more, more * limit_ms)
        self._describe(side, 0)
        self.private = kept
        self.write()

    def result(self, side: str, number: int) -> CallResult | None:
        """Read what a call of the last batch returned. Raises KernelProblem.

        On a GPU there is none where its memory was not known: the next call's may lie there, too.
        """
        inputs, known = self.drawn[number], self.known[side]
        with blamed(side):
            if (data := self.memories[side].read(known, self.places[side], number)) is None:
                return None
            layouts = [one.layout for one in known]
            placed = dict(zip(self._returned(), map(CallOutput, layouts, data), strict=True))
        if any(name in inputs.layouts for name in self.harness.outputs):
            content = self._content(side, number)
            for name in self.harness.outputs:
                if name in inputs.layouts:
                    (leaf,) = arrays.leaves(inputs.layouts[name])
                    placed[name] = CallOutput(leaf, bytes(content[leaf.offset : leaf.offset + leaf.span]))
        outputs = {name: placed[name] for name in self.harness.outputs}
        return CallResult(self.case, self.kind, side, outputs, Inputs(inputs.layouts, bytearray(self.private[number])))

    def _content(self, side: str, number: int) -> bytearray:
        """Return a set of inputs as kernels have left it."""
        worker, at, size = self.workers[side], self.at(number), self.drawn[number].size
        if worker.lent is None:
            return bytearray(worker.memory[at : at + size])
        found = worker.lent.read(self.base, at, size)
        for start, end in self._on_host():
            if at <= start < at + size:
                found[start - at : end - at] = worker.shared[start:end]
        return found

    def _returned(self) -> list[str]:
        return [name for name in self.harness.outputs if name not in self.drawn[0].layouts]

    def _describe(self, side: str, number: int) -> None:
        """Ask the worker for the layouts of a result, and where it lies. Raises KernelProblem."""
        names, counts, worker = self._returned(), self.counts, self.workers[side]
        found, places = [], []
        with blamed(side):
            said = worker.ask(ASKED_MS, what="describe", base=self.base, set=number)["outputs"]
            if names and len(said) != len(names):
                many = "nothing" if said and "none" in said[0] else f"{len(said)} values"
                raise KernelProblem("raised", side, f"it returns {many}, but should return {', '.join(names)}")
            for one, name in zip(said, names, strict=False):
                if "none" in one:
                    raise KernelProblem("raised", side, f"{name} is of type {one['none']}, which is no array")
                try:
                    layout = arrays.described(one["layout"])
                except ValueError as err:
                    raise KernelProblem("raised", side, f"{name} cannot be read: {err}") from err
                count = math.prod(layout.shape)
                if count != counts.get(name, count):
                    message = f"{name} has {count} elements {list(layout.shape)}, but should have {counts[name]}"
                    raise KernelProblem("raised", side, message)
                found.append(ReturnedArray(layout, worker.lent is not None and one["device"] is True))
                places.append(one["at"])
            self.memories[side].share(found, places)
        self.known[side] = found

    def refuse_other_kind(self) -> None:
        """Refuse outputs of the candidate that have not the incumbent's type and shape. Raises KernelProblem."""
        for name, (mine, _), (own, _) in zip(self._returned(), self.known["b"], self.known["a"], strict=True):
            if (mine.dtype, mine.shape) != (own.dtype, own.shape):
                message = f"{name} is {mine.dtype} {list(mine.shape)}, but should be {own.dtype} {list(own.shape)}"
                raise KernelProblem("raised", "b", message)

    def unchanged(self, side: str, number: int) -> None:
        """Refuse a kernel that wrote into an input, or beside one. Raises KernelProblem."""
        inputs = self.drawn[number]
        mine, kept = self._content(side, number), self.private[number]
        filled = [
            leaf
            for name in self.harness.outputs
            if name in inputs.layouts
            for leaf in arrays.leaves(inputs.layouts[name])
        ]
        for leaf in filled:
            mine[leaf.offset : leaf.offset + leaf.span] = kept[leaf.offset : leaf.offset + leaf.span]
        if mine == kept:
            return
        where = next(at for at, (one, other) in enumerate(zip(mine, kept, strict=False)) if one != other)
        for name, layout in inputs.layouts.items():
            for leaf in arrays.leaves(layout):
                if leaf.offset <= where < leaf.offset + leaf.span:
                    raise KernelProblem("input", side, f"it changes its input {name}")
        raise KernelProblem("input", side, "it writes outside its arguments")


def _moved(layout: Any, by: int) -> Any:
    if isinstance(layout, Layout):
        return layout._replace(offset=layout.offset + by)
    return type(layout)(_moved(one, by) for one in layout) if type(layout) in (list, tuple) else layout
