"""Loads a task's harness.py, and asks it for inputs and the truth. The candidate's process never does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import ALIGNED, Layout, Value
from kpd.measure.python.host.draw import Draw

GAP = 256  # bytes behind each array that no kernel may write
GUARD = b"\xa5"
KINDS = ("normal", "constant", "heavy_tail", "denormal", "large")


class HarnessError(Exception):
    """The harness is not usable: the task's fault, not a candidate's. The message says what is wrong in harness.py."""


class Limit(NamedTuple):
    """What harness.py allows a dim to be: from `least` to `most` (0: to that of the case), and a multiple."""

    least: int = 1
    most: int = 0
    multiple: int = 1

    def nearest(self, size: int) -> int:
        """Return the nearest size that is allowed; 0 where there is none."""
        least = -(-max(self.least, 1) // self.multiple) * self.multiple
        most = self.most // self.multiple * self.multiple or size
        found = max(min(size, most) // self.multiple * self.multiple, least)
        return 0 if self.most and found > self.most else found


class Inputs(NamedTuple):
    """What one call gets: the layout of each argument by name, and what lies in shared memory with it."""

    layouts: dict[str, Value]
    content: bytearray

    @property
    def size(self) -> int:
        return len(self.content)

    def values(self) -> dict[str, Any]:
        """Return the arguments, made of a copy."""
        memory = memoryview(bytearray(self.content))
        return {name: arrays.rebuilt(layout, memory) for name, layout in self.layouts.items()}


class CaseInputs(NamedTuple):
    """The inputs of some calls of a case, and how many elements each output of a call has, by name."""

    sets: list[Inputs]
    counts: dict[str, int]


class PythonHarness:
    """The task's own module, whose names are ENTRY, CASES, LIMITS, OUTPUTS, inputs, truth and scale."""

    def __init__(self) -> None:
        try:
            self.module = importlib.import_module("harness")
        except Exception as err:
            raise HarnessError(f"harness.py cannot be imported: {type(err).__name__}: {err}") from err
        self.place = str(Path(self.module.__file__ or "").parent)
        self.entry = self._has("ENTRY", str, "kernel")
        self.cases: dict[str, dict[str, int]] = self._has("CASES", dict)
        self.named = tuple(self.cases.values())
        self.uneven: set[str] = set()  # cases whose inputs are
        self.kinds: Sequence[str] = ()  # of inputs that are promised
        outputs = self._has("OUTPUTS", (tuple, list))
        self.outputs: tuple[str, ...] = tuple(map(str, outputs))
        self.fixed = frozenset(self._has("FIXED", (tuple, list), ()))
        if not self.cases or not all(isinstance(dims, dict) for dims in self.cases.values()):
            raise HarnessError('harness.py: CASES must name each case with its dims: {"small": {"n": 1024}}')
        if not all(type(size) is int for dims in self.cases.values() for size in dims.values()):
            raise HarnessError("harness.py: the dims of a case are whole numbers")
        if not self.outputs:
            raise HarnessError("harness.py: OUTPUTS must name what the kernel returns, or which argument it fills")
        if not callable(getattr(self.module, "inputs", None)):
            raise HarnessError("harness.py has no function inputs(dims, draw)")
        self.limits = {name: self._limit(name, said) for name, said in self._has("LIMITS", dict, {}).items()}
        self.counts: dict[str, dict[str, int]] = {}
        self.counted: tuple[Inputs, dict[str, Sequence[float]]] | None = None  # what `counts` was seen by last
        self.oracle = callable(getattr(self.module, "truth", None))
        self.scaled = callable(getattr(self.module, "scale", None))

    def _has(self, name: str, kind: Any, default: Any = None) -> Any:
        found = getattr(self.module, name, default)
        if not isinstance(found, kind):
            raise HarnessError(f"harness.py: {name} is missing, or not of the right type")
        return found

    def _limit(self, name: str, said: Any) -> Limit:
        try:
            limit = Limit(**said)
        except TypeError as err:
            raise HarnessError(f"harness.py: LIMITS[{name!r}] must be a dict of least, most, multiple: {err}") from err
        if not all(type(size) is int and size >= 0 for size in limit) or limit.multiple < 1:
            raise HarnessError(f"harness.py: LIMITS[{name!r}] must be whole numbers, and its multiple at least 1")
        return limit

    def draw(self, dims: dict[str, int], seed: int, kind: str, uneven: bool = False) -> Inputs:
        """Make the inputs of a call. The same seed makes the same ones. Raises HarnessError."""
        try:
            values = self.module.inputs(dict(dims), Draw(seed, kind, uneven, self.kinds, not self._is_long(dims)))
        except Exception as err:
            said = f"harness.py: inputs({dims}) raised {type(err).__name__}: {err}"
            if dims not in self.named:
                said += '; no case has this size: say in LIMITS which can be, or write sizes = "listed" in [check]'
            raise HarnessError(said) from err
        if not isinstance(values, dict) or not values:
            raise HarnessError("harness.py: inputs must return the arguments by name, as a dict in their order")
        layouts: dict[str, Value] = {}
        at = GAP
        for name, value in values.items():
            try:
                layouts[name], at = arrays.placed(value, at, GAP)
            except (ValueError, KeyError) as err:
                raise HarnessError(f"harness.py: argument {name!r}: {err}") from err
        content = bytearray(GUARD * (at + -at % ALIGNED))
        for name, layout in layouts.items():
            for leaf, one in zip(arrays.leaves(layout), arrays.leaves(values[name]), strict=True):
                content[leaf.offset : leaf.offset + leaf.span] = bytes(leaf.span)
                arrays.put(one, leaf, memoryview(content))
        return Inputs(layouts, content)

    def truth(self, values: dict[str, Any]) -> dict[str, Sequence[float]]:
        """Compute the outputs by name, as numbers of double precision. It may change `values`. Raises HarnessError."""
        return self._outputs("truth", values)

    def truth_of(self, inputs: Inputs) -> dict[str, Sequence[float]]:
        """Return the truth of a call, not computed again where its outputs were counted. Raises HarnessError."""
        known, self.counted = self.counted, None
        return known[1] if known is not None and known[0] == inputs else self.truth(inputs.values())

    def scales(self, inputs: Inputs) -> dict[str, Sequence[float]]:
        """Compute for each element of the outputs what its error is a share of; of none without a function scale.

        Raises HarnessError.
        """
        return self.scales_of(inputs.values()) if self.scaled else {}

    def scales_of(self, values: dict[str, Any]) -> dict[str, Sequence[float]]:
        """Do the same for arguments, which it may change, with a function scale. Raises HarnessError."""
        return self._outputs("scale", values)

    def _outputs(self, function: str, values: dict[str, Any]) -> dict[str, Sequence[float]]:
        try:
            found = getattr(self.module, function)(**values)
            if not isinstance(found, dict):
                found = dict(zip(self.outputs, found if isinstance(found, tuple) else (found,), strict=False))
            return {name: arrays.flat(found[name]) for name in self.outputs}
        except Exception as err:
            raise HarnessError(f"harness.py: {function} raised {type(err).__name__}: {err}") from err

    def drawn(self, case: str, seeds: list[int], kind: str, counted: bool = True) -> CaseInputs:
        """Make the inputs of as many calls as there are seeds; `counted`: `truth` says what comes out.

        Raises HarnessError.
        """
        sets = [self.draw(self.cases[case], seed, kind, case in self.uneven) for seed in seeds]
        if not counted:
            return CaseInputs(sets, {})
        if case not in self.counts:
            found = self.truth(sets[0].values())
            self.counts[case] = {name: len(one) for name, one in found.items()}
            self.counted = sets[0], found
        return CaseInputs(sets, self.counts[case])

    def _is_long(self, dims: dict[str, int]) -> bool:
        """Return whether a dim is longer than any case's."""
        return any(size > max(named.get(dim, 0) for named in self.named) for dim, size in dims.items())

    def add_uneven(self, case: str, dims: dict[str, int]) -> None:
        """Add a case whose inputs are uneven: no case of the task's own."""
        self.cases.setdefault(case, dims)
        self.uneven.add(case)

    @property
    def libraries(self) -> list[str]:
        """The libraries of arrays that the harness has imported: its kernels get these."""
        return [name for name in ("numpy", "torch") if name in sys.modules]

    def described(self) -> dict[str, Any]:
        """Return what `describe` prints: see `_Described` in measure/driver/harness.py."""
        cases = []
        for name, dims in self.cases.items():
            drawn = self.draw(dims, 1, "normal")
            sizes = {
                key: sum(leaf.span for leaf in arrays.leaves(layout))
                for key, layout in drawn.layouts.items()
                if arrays.leaves(layout)
            }
            cases.append({"name": name, "dims": dims, "bytes": sizes})
        return {
            "symbol": self.entry, "cases": cases, "oracle": self.oracle, "scaled": self.scaled,
            "varies": any(self.cases.values()), "far": True,
        }  # fmt: skip


def changed(inputs: Inputs, fixed: frozenset[str]) -> list[Layout]:
    """Return the arrays of floating-point numbers of which timing may change elements, all but those in `fixed`."""
    return [
        leaf
        for name, layout in inputs.layouts.items()
        if name not in fixed
        for leaf in arrays.leaves(layout)
        if leaf.is_float and leaf.span > leaf.itemsize
    ]
