"""Makes lines when they are needed: a pane shows fifty of thousands."""

from collections.abc import Callable, Sequence
from typing import overload

from textual.content import Content

MOST_KEPT = 2_000


class LazyRows(Sequence[Content]):
    """A sequence of `count` lines that are made when they are read: `make(y)` is the one at `y`."""

    def __init__(self, count: int, make: Callable[[int], Content]) -> None:
        self._count = count
        self._make = make
        self._made: dict[int, Content] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Content: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Content]: ...

    def __getitem__(self, at: int | slice) -> Content | Sequence[Content]:
        if isinstance(at, slice):
            return [self[y] for y in range(*at.indices(self._count))]
        y = at + self._count if at < 0 else at
        if not 0 <= y < self._count:
            raise IndexError(at)
        found = self._made.get(y)
        if found is None:
            if len(self._made) >= MOST_KEPT:
                self._made.clear()
            found = self._made[y] = self._make(y)
        return found
