"""Tells where what a kernel returned lies in this process, for its parent to read."""

from __future__ import annotations

import array
import contextlib
from typing import Any

from kpd.measure.python.host import arrays


def places(results: list[Any], count: int) -> list[int]:
    """Return where the results lie: for NumPy the array's object, whose pointer the parent reads, else its elements.

    Only what is quick to read: the clock runs.
    """
    first = results[0]
    if first is None:
        return []
    if arrays.library(first) == "numpy":
        return [*map(id, results[:count])]
    if arrays.library(first) == "torch":
        return [one.data_ptr() for one in results[:count]]
    if type(first) is array.array:
        return [one.buffer_info()[0] for one in results[:count]]
    results[:count] = map(readable, results[:count])
    return [place_of(part) for one in results[:count] for part in one]


def place_of(part: Any) -> int:
    """Return where an array lies, as `places` does."""
    return id(part) if arrays.library(part) == "numpy" else arrays.address_of(part)


def readable(result: Any) -> list[Any]:
    """Return the parts of a result, with an array in place of each number, list of numbers and memoryview."""
    several = type(result) is tuple or (type(result) is list and any(map(arrays.library, result)))
    return [_as_array(part) for part in (result if several else [result])]


def _as_array(part: Any) -> Any:
    with contextlib.suppress(TypeError, ValueError):
        if type(part) in (int, float, bool):
            return array.array("d", [part])
        if type(part) is list:
            return array.array("d", part)
        if type(part) is memoryview:
            return array.array(part.format, part.tobytes())
    return part
