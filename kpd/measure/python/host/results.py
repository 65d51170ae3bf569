"""Reads what kernels return where it lies: in the memory of the stopped worker, or in its memory of a GPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from kpd.measure.python.host import arrays as its
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.device import DeviceError, NotShared
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.problems import Failed
from kpd.measure.python.host.process import Worker

ASKED_MS = 10_000.0  # for anything but calls
MISSED = 3  # results in memory that is not known, after which one in two has to be in memory that is
ELSEWHERE = "its results lie in other memory each time"
POINTER = 8  # bytes; the first thing in NumPy's array behind what every object has is the pointer to its elements


class CallOutput(NamedTuple):
    """The layout and the bytes of an output."""

    layout: Layout
    data: bytes | bytearray

    def read(self) -> Any:
        return its.numbers(self.layout, self.data)


class CallResult(NamedTuple):
    """What came of one call: its outputs by name, and the inputs that it had."""

    case: str
    kind: str
    side: str
    outputs: dict[str, CallOutput]
    inputs: Inputs

    @property
    def size(self) -> int:
        return self.inputs.size + sum(len(one.data) for one in self.outputs.values())


class ReturnedArray(NamedTuple):
    """An array that a kernel returns in each call: how it lies, and whether on a device."""

    layout: Layout
    on_device: bool

    @property
    def shared(self) -> bool:
        """Whether it has memory of a device."""
        return self.on_device and self.layout.span > 0


class ResultMemory:
    """The memory of one worker in which the results of one kernel lie."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.looks: list[bool] = []  # whether the memory of a result that was looked for was known

    @property
    def missed(self) -> bool:
        """Whether the last look found memory that was not known."""
        return bool(self.looks) and not self.looks[-1]

    def looked(self, known: bool) -> None:
        """Note a look. Raises Failed where most of them missed."""
        self.looks.append(known)
        missed = self.looks.count(False)
        if missed >= MISSED and 2 * missed > len(self.looks):
            raise Failed("raised", ELSEWHERE)

    def read(self, arrays: Sequence[ReturnedArray], places: list[int], number: int) -> list[bytes | bytearray] | None:
        """Read what call `number` returned, of all calls that returned these places. Raises Failed.

        None where a device's memory is not what it was, or not known: now all is. The worker says which memory it is
        only after it was read: it cannot give it for other memory meanwhile.
        """
        many = len(arrays)
        own = places[number * many : (number + 1) * many]
        try:
            found = [self._one(one, place) for one, place in zip(arrays, own, strict=True)]
        except NotShared:
            found = []
        except DeviceError as err:
            raise Failed("forged", f"its result cannot be read: {err}") from err
        known = self.share(arrays, places)
        return found if len(found) == many and all(known[number * many : (number + 1) * many]) else None

    def each(self, arrays: Sequence[ReturnedArray], places: list[int]) -> list[list[bytes | bytearray]]:
        """Read what all calls returned that returned these places, without a device: by array. Raises Failed."""
        many = len(arrays)
        return [[self._one(array, place) for place in places[at::many]] for at, array in enumerate(arrays)]

    def _one(self, array: ReturnedArray, place: int) -> bytes | bytearray:
        layout = array.layout
        if not layout.span:
            return b""
        if array.on_device:
            return self.worker.opened.read(place, layout.span)
        return self.worker.read(self._elements(array, place), layout.span)

    def _elements(self, array: ReturnedArray, place: int) -> int:
        """Return where the elements of an array without a device begin. Raises Failed."""
        if type(place) is int and place > 0 and array.layout.lib == "numpy":
            place = int.from_bytes(self.worker.read(place + object.__basicsize__, POINTER), sys.byteorder)
        if type(place) is not int or place <= 0:
            raise Failed("forged", "its result is nowhere")
        return place

    def beside(self, arrays: Sequence[ReturnedArray], places: list[int], start: int, end: int) -> list[int]:
        """Return which of the arrays lie in no input, which are from `start` to `end`. Raises Failed."""
        pairs = enumerate(zip(arrays, places, strict=True))
        return [at for at, one in pairs if one[0].layout.span and not self._lies_in(*one, start, end)]

    def _lies_in(self, array: ReturnedArray, place: int, start: int, end: int) -> bool:
        if array.on_device:
            return self.worker.opened.is_lent(place)
        return start <= self._elements(array, place) - self.worker.mapped < end

    def share(self, arrays: Sequence[ReturnedArray], places: list[int]) -> list[bool]:
        """Ask for the memory that holds each place on a device. Return what was known of it. Raises Failed."""
        known = [True] * len(places)
        asked = [at for at in range(len(places)) if arrays[at % len(arrays)].shared]
        if asked:
            said = self.worker.ask(ASKED_MS, what="share", at=[places[at] for at in asked])["memory"]
            for at, one in zip(asked, said, strict=True):
                known[at] = self._known(places[at], arrays[at % len(arrays)].layout.span, one)
        return known

    def _known(self, place: int, size: int, said: dict[str, int | str]) -> bool:
        opened, number, base = self.worker.opened, int(said["number"]), int(said["base"])
        try:
            if opened.at(place, size) == number:
                return True
        except NotShared:
            pass
        try:
            if number < 0 and self.worker.lent:
                opened.lent(self.worker.lent, -1 - number, base)
            else:
                opened.learn(number, base, bytes.fromhex(str(said["handle"])))
        except DeviceError as err:
            raise Failed("forged", f"its result lies in no memory of its own: {err}") from err
        return False
