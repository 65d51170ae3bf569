"""Which results of a kernel a worker holds, and when they are looked at again."""

from typing import Any, cast

import pytest

from kpd.measure.python.host.arrays import Layout, elements
from kpd.measure.python.host.held import HELD, HELD_BYTES, HeldResults
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.results import ResultMemory, ReturnedArray


class Memory:
    """A worker's memory: a size for each place, of zeros but for those that were overwritten."""

    def __init__(self) -> None:
        self.worker, self.asked = self, []
        self.sizes: dict[int, int] = {}
        self.overwritten: set[int] = set()
        self.unknown: set[int] = set()

    def ask(self, limit_ms: float, **what: Any) -> dict[str, list[int]]:
        self.asked.append(what)
        return {"held": []}

    def read(self, arrays: list[ReturnedArray], places: list[int], number: int) -> list[bytes] | None:
        (place,) = places
        if place in self.unknown:
            return None
        return [bytes([place in self.overwritten]) + bytes(self.sizes[place] - 1)]


def held(memory: Memory, count: int, size: int = 4) -> HeldResults:
    """So many results of that size, at the places 0, 1 …"""
    found = HeldResults("b", cast(ResultMemory, memory))
    for place in range(count):
        memory.sizes[place] = size
        array = ReturnedArray(Layout("numpy", "uint8", (size,), (1,), 1), False)
        found.add(0, place, [array], {0: place}, [bytes(size)])
    return found


@pytest.mark.parametrize("place", range(HELD))
def test_each_that_is_held_is_looked_at_in_the_end(place: int) -> None:
    memory = Memory()
    found = held(memory, HELD)
    memory.overwritten.add(place)
    with pytest.raises(KernelProblem, match="overwrites a result") as caught:
        found.refuse_overwritten()
    assert caught.value.report["who"] == "candidate"


def test_none_is_overwritten_where_all_are_as_they_were_or_nobody_knows() -> None:
    memory = Memory()
    found = held(memory, HELD)
    memory.overwritten.add(1)
    memory.unknown.add(1)
    found.refuse_overwritten()
    memory.unknown.clear()
    found.refuse_overwritten()  # holds none any more


def test_one_more_than_are_held_has_the_first_looked_at() -> None:
    memory = Memory()
    memory.overwritten.add(0)
    held(memory, HELD)
    with pytest.raises(KernelProblem, match="overwrites a result"):
        held(memory, HELD + 1)


@pytest.mark.parametrize(
    ("size", "most"),
    [(HELD_BYTES // HELD, HELD), (HELD_BYTES // HELD + 1, HELD - 1), (HELD_BYTES // 2 + 1, 1), (2 * HELD_BYTES, 1)],
)
def test_so_many_bytes_are_held_at_most_but_one_result_in_any_case(size: int, most: int) -> None:
    memory = Memory()
    found = held(memory, min(most + 1, HELD), size)
    assert len(found.held) == most
    assert {what["most"] for what in memory.asked} == {most}


def test_nothing_is_held_of_what_returns_nothing() -> None:
    memory = Memory()
    assert not held(memory, 3, 0).held
    assert not memory.asked


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize(
    ("shape", "strides", "wanted"),
    [
        ((), (), [0]),
        ((0, 3), (3, 1), []),
        ((2, 3), (3, 1), [0, 1, 2, 3, 4, 5]),
        ((2, 3), (1, 2), [0, 1, 2, 3, 4, 5]),  # no bytes between them: as they lie
        ((2, 3), (10, 3), [0, 3, 6, 10, 13, 16]),
        ((3,), (4,), [0, 4, 8]),
        ((3, 5), (4, 0), [0, 4, 8]),  # all of a row are one element
    ],
)
def test_the_bytes_between_elements_are_none_of_theirs(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: list[int], itemsize: int
) -> None:
    layout = Layout("numpy", "any", shape, strides, itemsize)
    data = b"".join(bytes([number]) * itemsize for number in range(20))[: layout.span]
    assert elements(layout, data) == b"".join(bytes([number]) * itemsize for number in wanted)
