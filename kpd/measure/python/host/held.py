"""Has a worker hold some results, as a caller may: a kernel that overwrites one later is refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from kpd.measure.python.host.arrays import elements
from kpd.measure.python.host.problems import KernelProblem, blamed
from kpd.measure.python.host.results import ASKED_MS, ResultMemory, ReturnedArray

HELD = 8  # results of a kernel, or fewer: …
HELD_BYTES = 64 << 20  # … so many bytes at most, but one in any case
OVERWRITES = "it overwrites a result that it has returned, and that its caller still has"


class HeldResult(NamedTuple):
    """What a call returned: its arrays, where they lie, and what was in them."""

    arrays: Sequence[ReturnedArray]
    places: list[int]
    data: list[bytes | bytearray]

    @property
    def size(self) -> int:
        return sum(map(len, self.data))


class HeldResults:
    """The results of one kernel that its worker holds. One that is held no longer is looked at before."""

    def __init__(self, side: str, memory: ResultMemory) -> None:
        self.side, self.memory = side, memory
        self.held: deque[HeldResult] = deque()

    def add(
        self, base: int, number: int, arrays: Sequence[ReturnedArray], places: dict[int, int],
        data: list[bytes | bytearray], view: bool = False,
    ) -> None:  # fmt: skip
        """Hold what the last call on a set returned, or only a `view` of it. Raises KernelProblem, Failed.

        The `places` are those of the arrays by their number in the result.
        """
        new = HeldResult(arrays, [*places.values()], _elements(arrays, data))
        if not new.size:
            return
        most = max(1, min(HELD, HELD_BYTES // new.size))
        while len(self.held) >= most:
            self._refuse(self.held.popleft())
        asked = {"side": self.side, "base": base, "set": number, "most": most, "view": view}
        said = self.memory.worker.ask(ASKED_MS, what="hold", **asked)["held"]
        self.held.append(new._replace(places=[said[at] for at in places]) if view else new)

    def refuse_overwritten(self) -> None:
        """Refuse a kernel that has overwritten one that is held, and hold none any more. Raises KernelProblem."""
        with blamed(self.side):
            while self.held:
                self._refuse(self.held.popleft())
            self.memory.worker.ask(ASKED_MS, what="release", side=self.side)

    def _refuse(self, one: HeldResult) -> None:
        """Look at one of them. On a device it is left out where nobody knows its memory any more."""
        found = self.memory.read(one.arrays, one.places, 0)
        if found is not None and _elements(one.arrays, found) != one.data:
            raise KernelProblem("raised", self.side, OVERWRITES)


def _elements(arrays: Sequence[ReturnedArray], data: list[bytes | bytearray]) -> list[bytes | bytearray]:
    return [elements(array.layout, one) for array, one in zip(arrays, data, strict=True)]
