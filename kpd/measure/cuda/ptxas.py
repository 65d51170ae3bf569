"""Parses `ptxas -v`: the resources of each function, which limit the warps on an SM."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

_ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)'")
_FUNCTION = re.compile(r"ptxas info\s*: Function properties for '?([^\s']+)")
_STACK = re.compile(r"\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers(.*)")
_MANGLED = re.compile(r"_Z(N?)K?(?=\d)")
_LENGTH = re.compile(r"[1-9]\d{0,3}")


@dataclass(frozen=True, slots=True)
class FunctionResources:
    """A kernel, or a device function that was not inlined. Memory is in bytes: per thread, or (`shared`) per block.

    `name` is without namespaces, parameters and template arguments. `registers` is None for a function that is not a
    kernel: its registers belong to its callers. Shared memory that a launch asks for is not known here.
    """

    symbol: str
    name: str
    registers: int | None = None
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0


def parse(said: str) -> tuple[FunctionResources, ...]:
    """Parse the output of ptxas of any toolkit since CUDA 11; return the functions in its order. Skip other lines."""
    found: dict[str, FunctionResources] = {}
    entry = properties = ""
    for line in said.splitlines():
        if match := _ENTRY.match(line):
            entry = match[1]
            found[entry] = FunctionResources(entry, plain_name(entry))
        elif match := _FUNCTION.match(line):
            properties = match[1]
            found.setdefault(properties, FunctionResources(properties, plain_name(properties)))
        elif (match := _STACK.match(line)) and properties:
            stack, stores, loads = map(int, match.groups())
            found[properties] = replace(found[properties], stack=stack, spill_stores=stores, spill_loads=loads)
        elif (match := _USED.match(line)) and entry:
            found[entry] = replace(
                found[entry],
                registers=int(match[1]),
                shared=_total(r"(\d+(?:\+\d+)*) bytes smem", match[2]),
            )
    return tuple(found.values())


def metrics(functions: Iterable[FunctionResources]) -> dict[str, float]:
    """Return the metrics of a build, each the largest of any function. They are empty when ptxas printed nothing."""
    functions = tuple(functions)
    kernels = [function for function in functions if function.registers is not None]
    if not kernels:
        return {}
    return {
        "ptxas_registers": max(kernel.registers or 0 for kernel in kernels),
        "spill_store_bytes": max(function.spill_stores for function in functions),
        "spill_load_bytes": max(function.spill_loads for function in functions),
        "stack_bytes": max(function.stack for function in functions),
        "static_shared_bytes": max(kernel.shared for kernel in kernels),
    }


def plain_name(symbol: str) -> str:
    """Find the function's own name in a symbol of the Itanium ABI, which nvcc uses; return the symbol if that fails.

    `_ZN2ns4innsENS_1QIfLi3EEEPf` is `inns`.
    """
    start = _MANGLED.match(symbol)
    if not start:
        return symbol
    at, name = start.end(), ""
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        if at > len(symbol):
            return symbol
        name = symbol[length.end() : at]
        if not start[1]:  # not in a namespace: what follows are the types of its parameters
            break
    return name or symbol


def _total(pattern: str, said: str) -> int:
    """Sum an amount that appears once for each bank, or as `60+16`, or not at all."""
    return sum(sum(map(int, amount.split("+"))) for amount in re.findall(pattern, said))
