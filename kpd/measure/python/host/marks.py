"""Sums up where the time of a command goes, in seconds by the name of a part, and says what a request costs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import NamedTuple


class RequestCost(NamedTuple):
    """The nanoseconds that a batch takes beside its calls, and how long the worker has a CPU in them."""

    ns: int
    own_ns: int


class Marks(dict[str, float]):
    """Seconds by part. Parts may lie in one another: `first` is a share of `run`."""

    @contextlib.contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self[part] = self.get(part, 0.0) + time.monotonic() - begun

    def rounded(self) -> dict[str, float]:
        return {part: round(seconds, 3) for part, seconds in self.items()}
