"""Reads what kernels return where it lies: in the memory of the stopped worker, or in its memory of a GPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.device import DeviceError, NotShared
from kpd.measure.python.host.process import Failed, Worker

ASKED_MS = 10_000.0  # for anything but calls
POINTER = 8  # bytes; the first thing in NumPy's array behind what every object has is the pointer to its elements
MOVED = 20  # times that results may lie in memory that is not known, until a kernel is refused


class ReturnedArray(NamedTuple):
    """An array that a kernel returns in each call: how it lies, and whether on a device."""

    layout: Layout
    on_device: bool


class ResultMemory:
    """The memory of one worker in which the results of one kernel lie."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.moved = 0

    def read(self, arrays: Sequence[ReturnedArray], places: list[int]) -> list[bytes] | None:
        """Read arrays at their places. None where a device's memory is not what it was; now it is known. Raises Failed.

        The worker says which memory it is only after it was read: it cannot give it for other memory meanwhile.
        """
        try:
            found = [self._one(one, place) for one, place in zip(arrays, places, strict=True)]
        except NotShared:
            found = []
        except DeviceError as err:
            raise Failed("forged", f"its result cannot be read: {err}") from err
        if self.share(arrays, places) and len(found) == len(arrays):
            return found
        self.moved += 1
        if self.moved > MOVED:
            raise Failed("raised", "its results lie in memory that it takes anew again and again")
        return None

    def _one(self, array: ReturnedArray, place: int) -> bytes:
        layout = array.layout
        if not layout.span:
            return b""
        if array.on_device:
            return self.worker.opened.read(place, layout.span)
        if type(place) is int and place > 0 and layout.lib == "numpy":
            place = int.from_bytes(self.worker.read(place + object.__basicsize__, POINTER), sys.byteorder)
        if type(place) is not int or place <= 0:
            raise Failed("forged", "its result is nowhere")
        return self.worker.read(place, layout.span)

    def share(self, arrays: Sequence[ReturnedArray], places: list[int]) -> bool:
        """Ask for a device's memory that holds these arrays. Return whether all was known. Raises Failed."""
        spans = zip(places, arrays, strict=True)
        wanted = [(place, one.layout.span) for place, one in spans if one.on_device and one.layout.span]
        if not wanted:
            return True
        said = self.worker.ask(ASKED_MS, what="share", at=[place for place, _ in wanted])["memory"]
        known = [self._known(*where, one) for where, one in zip(wanted, said, strict=True)]  # each is learned
        return all(known)

    def _known(self, place: int, size: int, said: dict[str, int | str]) -> bool:
        opened = self.worker.opened
        try:
            if opened.at(place, size) == said["number"]:
                return True
        except NotShared:
            pass
        try:
            opened.learn(int(said["number"]), int(said["base"]), bytes.fromhex(str(said["handle"])))
        except DeviceError as err:
            message = f"its results lie in memory that no other process can open ({err}): let torch take it"
            raise Failed("raised", message) from err
        return False
