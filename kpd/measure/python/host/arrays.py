"""Turns arrays of NumPy, of torch and of Python's own `array` into bytes and back, for both processes.

Neither library is needed: one that is not imported has no arrays.
"""

from __future__ import annotations

import array
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

CODES = {"float32": "f", "float64": "d", "int32": "i", "int64": "q", "uint8": "B", "int8": "b", "int16": "h"}
"""The types of elements that Python's own arrays can have."""
NAMES = {code: name for name, code in CODES.items()}
FLOATS = ("float16", "bfloat16", "float32", "float64")
PRECISION = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
GREATEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028234e38, "float64": 1.7976931348623157e308}
APART, SPARSE = 64 << 20, 8  # bytes that an output may extend over, or so many times those of its elements
ALIGNED = 256  # bytes, as memory of a GPU is
SIZES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
}  # fmt: skip
"""The bytes of an element of each type that an output can have, beside those of eight bits that torch has."""


WORDS = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Whole numbers of as many bytes."""


class Layout(NamedTuple):
    """An array without its content: its library, the type of its elements, and how they lie, in elements.

    `offset` is where its bytes begin in the memory that both processes share.
    """

    lib: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    offset: int = 0

    @property
    def span(self) -> int:
        """The bytes from its first element to the end of its last."""
        if 0 in self.shape:
            return 0
        return (1 + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=False))) * self.itemsize

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS or self.dtype.startswith("float8")


Value = Any
"""An argument, with a Layout in place of each array."""


def library(value: Any) -> str:
    """Return whose array this is, by its exact type; empty for anything else."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and type(value) is numpy.ndarray:
        return "numpy"
    if torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter):
        return "torch"
    return "array" if type(value) in (array.array, memoryview) else ""


def layout_of(value: Any) -> Layout:
    """Describe an array."""
    lib = library(value)
    if lib == "numpy":
        size = value.dtype.itemsize
        return Layout(lib, value.dtype.name, value.shape, tuple(step // size for step in value.strides), size)
    if lib == "torch":
        return Layout(lib, str(value.dtype)[6:], tuple(value.shape), tuple(value.stride()), value.element_size())
    code = value.typecode if type(value) is array.array else value.format
    return Layout(lib, NAMES[code], (len(value),), (1,), value.itemsize)


def described(said: Any) -> Layout:
    """Return the layout that a worker gives of an output. Raises ValueError for one that no array has here."""
    lib, dtype, shape, strides, itemsize, _ = said
    numbers = [itemsize, *shape, *strides]
    if type(lib) is not str or type(dtype) is not str or not all(type(one) is int for one in numbers):
        raise ValueError("it is no layout")
    if itemsize != (1 if dtype.startswith("float8") else SIZES.get(dtype)):
        raise ValueError(f"elements of type {dtype} cannot be compared")
    # To a single element any step will do.
    steps = tuple(step if n > 1 else 1 for n, step in zip(shape, strides, strict=False))
    if len(shape) != len(strides) or min(0, *shape, *steps) < 0:
        raise ValueError("it runs backwards through its memory")
    found = Layout(lib, dtype, tuple(shape), steps, itemsize)
    if _overlaps(found):
        raise ValueError("some of its elements are one in memory: who writes to it changes others")
    if found.span > max(APART, SPARSE * math.prod(shape) * itemsize):
        raise ValueError(f"its {math.prod(shape)} elements lie {found.span >> 20} MiB apart")
    return found


def _overlaps(layout: Layout) -> bool:
    """Return whether elements share memory, as far as that follows from one dim after the other."""
    if 0 in layout.shape:
        return False
    reach = 0
    for step, count in sorted((step, n) for step, n in zip(layout.strides, layout.shape, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += step * (count - 1)
    return False


def address_of(value: Any) -> int:
    """Return where the first element of an array lies in its process's memory."""
    lib = library(value)
    if lib == "numpy":
        return int(value.__array_interface__["data"][0])
    if lib == "torch":
        return int(value.data_ptr())
    return int(value.buffer_info()[0]) if type(value) is array.array else 0


def put(value: Any, layout: Layout, memory: memoryview) -> None:
    """Write the content of an array to `memory` as `layout` says."""
    if not layout.span:
        return
    place = view(layout, memory)
    if layout.lib == "torch":
        place.copy_(value.detach())
    elif layout.lib == "numpy":
        place[...] = value
    else:
        place[:] = memoryview(value)


def view(layout: Layout, memory: memoryview) -> Any:
    """Return an array of the same library over `memory`, which it shares."""
    span = memory[layout.offset : layout.offset + layout.span]
    if layout.lib == "numpy":
        import numpy

        steps = tuple(step * layout.itemsize for step in layout.strides)
        flat = numpy.frombuffer(span, dtype=layout.dtype)
        return numpy.lib.stride_tricks.as_strided(flat, layout.shape, steps)
    if layout.lib == "torch":
        import torch

        kind = getattr(torch, layout.dtype)
        if not layout.span:
            return torch.empty(layout.shape, dtype=kind)
        return torch.as_strided(torch.frombuffer(span, dtype=kind), layout.shape, layout.strides)
    return _cast(span, layout.dtype)


def elements(layout: Layout, data: bytes | bytearray) -> bytes | bytearray:
    """Return the bytes of an array's elements without those that lie between them, from all of its span."""
    dims = [(count, step) for count, step in zip(layout.shape, layout.strides, strict=True) if step]
    if layout.span <= math.prod(count for count, _ in dims) * layout.itemsize:
        return data
    at, starts = memoryview(data).cast(WORDS[layout.itemsize]), [0]  # type: ignore[call-overload]
    *outer, (most, step) = sorted(dims, key=lambda dim: dim[0])
    for count, further in outer:
        starts = [start + number * further for start in starts for number in range(count)]
    return b"".join(at[start : start + (most - 1) * step + 1 : step].tobytes() for start in starts)


def numbers(layout: Layout, data: bytes | bytearray | memoryview) -> Any:
    """Return the elements as numbers of double precision, in the order of their indices, from the array's bytes.

    A NumPy array where NumPy is imported, else a list. Raises ValueError for elements that nobody here can read.
    """
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    here = layout._replace(offset=0)
    if torch is not None and (numpy is None or layout.dtype not in numpy.sctypeDict):
        found = view(here._replace(lib="torch"), memoryview(bytearray(data))).double().reshape(-1)
        return found.numpy() if numpy is not None else found.tolist()
    if numpy is not None:
        if layout.dtype == "bfloat16":
            wide = numpy.frombuffer(data, "uint16").astype("uint32") << 16
            flat, size = wide.view("float32"), 4
        else:
            flat, size = numpy.frombuffer(data, layout.dtype), layout.itemsize
        steps = tuple(step * size for step in layout.strides)
        if not layout.span:
            return numpy.zeros(0)
        return numpy.lib.stride_tricks.as_strided(flat, layout.shape, steps).astype("float64").reshape(-1)
    if layout.dtype not in CODES or layout.strides != contiguous(layout.shape):
        raise ValueError(f"{layout.dtype} {layout.strides} needs NumPy in the task's Python")
    return [float(one) for one in _cast(memoryview(data), layout.dtype)]


def _cast(data: memoryview, dtype: str) -> Any:
    return data.cast(CODES[dtype])  # type: ignore[call-overload]


def flat(value: Any) -> Any:
    """Return what a truth gives as numbers of double precision: arrays of any library, nested lists, or one number."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().double().cpu().reshape(-1)
        return value.numpy() if numpy is not None else value.tolist()
    if numpy is not None:
        return numpy.asarray(value, dtype="float64").reshape(-1)
    if isinstance(value, (list, tuple)):
        found: list[float] = []
        for one in value:
            found += flat(one)
        return found
    return list(map(float, value)) if isinstance(value, (array.array, memoryview)) else [float(value)]


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of an array whose elements lie in the order of their indices."""
    steps: list[int] = []
    step = 1
    for n in reversed(shape):
        steps.insert(0, step)
        step *= max(n, 1)
    return tuple(steps)


def placed(value: Any, at: int, gap: int) -> tuple[Value, int]:
    """Give each array in an argument an offset, from `at` on, with `gap` bytes behind it. Return the next offset, too.

    Raises ValueError for what is neither an array, nor a list of arrays, nor a plain value.
    """
    if library(value):
        found = layout_of(value)
        if any(step < 0 for step in found.strides):
            raise ValueError("an input runs backwards through its memory")
        at += -at % ALIGNED
        return found._replace(offset=at), at + found.span + gap
    if type(value) in (list, tuple):
        parts = []
        for one in value:
            part, at = placed(one, at, gap)
            parts.append(part)
        return type(value)(parts), at
    if value is None or type(value) in (int, float, str, bool):
        return value, at
    raise ValueError(f"an input is {type(value).__name__}: give arrays, numbers, texts, or lists of these")


def leaves(value: Any) -> list[Any]:
    """Return the arrays, or their layouts, in an argument."""
    if isinstance(value, Layout) or library(value):
        return [value]
    return [leaf for one in value for leaf in leaves(one)] if type(value) in (list, tuple) else []


def rebuilt(value: Any, memory: memoryview) -> Any:
    """Return an argument with an array over `memory` in place of each Layout."""
    if isinstance(value, Layout):
        return view(value, memory)
    return type(value)(rebuilt(one, memory) for one in value) if type(value) in (list, tuple) else value


def told(value: Any) -> Any:
    """Return an argument as JSON can hold it."""
    if isinstance(value, Layout):
        return {"array": list(value)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [told(one) for one in value]}
    return {"value": value}


def untold(said: Any) -> Any:
    """Return the argument that `told` gave."""
    ((kind, body),) = said.items()
    if kind == "array":
        lib, dtype, shape, strides, itemsize, offset = body
        return Layout(
            str(lib), str(dtype), tuple(map(int, shape)), tuple(map(int, strides)), int(itemsize), int(offset)
        )
    if kind == "value":
        return body
    return (list if kind == "list" else tuple)(untold(one) for one in body)
