"""Calls a kernel on sets of inputs, and reads what it returns."""

from __future__ import annotations

import contextlib
import math
import random
from typing import Any

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.harness import Inputs, PythonHarness
from kpd.measure.python.host.held import HeldResults
from kpd.measure.python.host.laying import LaidSets
from kpd.measure.python.host.problems import KernelProblem, blamed
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.results import ASKED_MS, ELSEWHERE, CallOutput, CallResult, ResultMemory, ReturnedArray

TRIES = 5  # of calls, for results in memory that is known
AGAIN_NS = 100_000_000  # of calls before those that are compared


class CallSets(LaidSets):
    """Sets of inputs of one case and kind. `counts` are the elements that each output must have, where known."""

    def __init__(
        self, harness: PythonHarness, workers: dict[str, Worker], case: str, kind: str, counts: dict[str, int]
    ) -> None:
        super().__init__(harness, workers, case)
        self.kind, self.counts = kind, counts
        self.called: set[str] = set()
        self.known: dict[str, list[ReturnedArray]] = {}
        self.memories = {side: ResultMemory(worker) for side, worker in workers.items()}
        self.held = {side: HeldResults(side, memory) for side, memory in self.memories.items()}
        self.places: dict[str, list[int]] = {}  # where the results of a side's last batch lie

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

    def hold(self, side: str, number: int, result: CallResult, view: bool = False) -> None:
        """Have the worker hold what call `number` of the last batch returned, or only a view. Raises KernelProblem.

        Not what lies in the inputs, which change.
        """
        known, names = self.known[side], self._returned()
        with blamed(side):
            places = self._beside(side, number)
            data = [result.outputs[names[at]].data for at in places]
            self.held[side].add(self.base, number, [known[at] for at in places], places, data, view)

    def spoil(self, side: str, number: int) -> None:
        """Have the worker overwrite what call `number` of the last batch returned. Raises KernelProblem."""
        with blamed(side):
            which = [*self._beside(side, number)]
            self.workers[side].ask(ASKED_MS, what="spoil", base=self.base, set=number, which=which)

    def _beside(self, side: str, number: int) -> dict[int, int]:
        """Return where those arrays are of what a call returned that lie in no input, by their number in it."""
        known = self.known[side]
        places = self.places[side][number * len(known) : (number + 1) * len(known)]
        found = self.memories[side].beside(known, places, self.base, self.at(len(self.drawn)))
        return {at: places[at] for at in found}

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

    def all_outputs(self, side: str, count: int) -> dict[str, tuple[Layout, list[bytes | bytearray]]]:
        """Read what the first `count` calls of the last batch have left, by output, without a device.

        Raises KernelProblem.
        """
        known, names = self.known[side], self._returned()
        with blamed(side):
            data = self.memories[side].each(known, self.places[side][: count * len(known)])
        found = {name: (known[at].layout, data[at]) for at, name in enumerate(names)}
        for name in self.harness.outputs:
            if name in self.drawn[0].layouts:
                (leaf,) = arrays.leaves(self.drawn[0].layouts[name])
                memory = self.workers[side].memory
                starts = (self.at(number) + leaf.offset for number in range(count))
                found[name] = leaf, [bytes(memory[start : start + leaf.span]) for start in starts]
        return found

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
