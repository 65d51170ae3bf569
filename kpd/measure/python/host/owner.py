"""What a program does with arrays of its own, and a worker in its place: it keeps a part, overwrites, and lends."""

from __future__ import annotations

import contextlib
from typing import Any

from kpd.measure.python.host import arrays

VIEWED = ("ndarray", "Tensor")  # arrays of which a slice is a view
OTHER = 77  # that is written into a result


def view(part: Any) -> Any:
    """Return a view of an array of NumPy or torch, which is another object; anything else as it is."""
    return part[...] if type(part).__name__ in VIEWED else part


def overwrite(part: Any) -> None:
    """Write other numbers into an array of NumPy or torch, unless it is for reading only."""
    fill = getattr(part, "fill_" if arrays.library(part) == "torch" else "fill", None)
    with contextlib.suppress(ValueError, RuntimeError):
        if fill is not None:
            fill(OTHER)


def copied(part: Any) -> Any:
    """Return arrays of NumPy and torch as copies, also those in lists and tuples."""
    if type(part) in (list, tuple):
        return type(part)(map(copied, part))
    if type(part).__name__ not in VIEWED:
        return part
    return part.copy(order="K") if type(part).__name__ == "ndarray" else part.clone()


def harm(copies: list[Any], originals: list[Any]) -> str:
    """Say what has been done to arrays of NumPy that were copied; nothing, if nothing has."""
    for mine, theirs in zip(copies, originals, strict=True):
        for one, other in zip(arrays.leaves(mine), arrays.leaves(theirs), strict=True):
            if type(one).__name__ == "ndarray" and not one.flags.writeable:
                return "leaves for reading only"
            if type(one).__name__ == "ndarray" and one.tobytes() != other.tobytes():
                return "changes"
    return ""
