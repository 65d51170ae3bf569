"""Lays sets of inputs into the memory that kernels read, and changes them there."""

from __future__ import annotations

import random
from typing import Any

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.harness import HarnessError, Inputs, PythonHarness, changed
from kpd.measure.python.host.problems import blamed
from kpd.measure.python.host.process import Worker

CHANGES = 2  # elements of each input that change before a batch


class LaidSets:
    """Sets of inputs of one case, in the memory of each worker, which gets each as a call's arguments.

    `workers` are those of the sides: two, or one with both kernels. This process has its own copy of each set: it gives
    the truth, and shows what a kernel wrote where it must not. `base` is where the sets begin in those memories. On a
    GPU each change is written as a whole.
    """

    def __init__(self, harness: PythonHarness, workers: dict[str, Worker], case: str) -> None:
        self.harness, self.workers, self.case = harness, workers, case
        self.owners = {workers[side]: side for side in sorted(workers)}  # each once; of both sides the candidate's
        self.base = 0
        self.drawn: list[Inputs] = []
        self.private: list[bytearray] = []
        self.changing: list[list[tuple[int, int, int]]] = []  # offset, bytes and number of elements, by set and array

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

    def prepare(self, limit_ms: float, anew: bool = False, fleeting: bool = False) -> None:
        """Have each worker make arguments of all sets, and write their content only then. Raises KernelProblem.

        One that has made them already is not asked again: it could get ready then for calls that are timed next. It is
        asked for arrays that are made `anew`, and has no others then; `fleeting` ones nobody has but a call.
        """
        size = self.drawn[0].size
        sets = [
            [arrays.told(_moved(layout, self.at(number))) for layout in inputs.layouts.values()]
            for number, inputs in enumerate(self.drawn)
        ]
        for worker, side in self.owners.items():
            if anew:
                worker.laid.clear()
            if worker.laid.get(self.base) == (sets, fleeting):
                continue
            handle = worker.lent.lend(self.base, len(sets) * size) if worker.lent else ""
            asked = {"base": self.base, "sets": sets, "size": size, "handle": handle}
            with blamed(side):
                worker.ask(limit_ms, what="prepare", **asked, anew=anew, fleeting=fleeting)
            worker.laid[self.base] = sets, fleeting
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


def _moved(layout: Any, by: int) -> Any:
    if isinstance(layout, Layout):
        return layout._replace(offset=layout.offset + by)
    return type(layout)(_moved(one, by) for one in layout) if type(layout) in (list, tuple) else layout
