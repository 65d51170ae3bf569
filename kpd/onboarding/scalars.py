"""Classifies scalar arguments: they set how many threads work (role A), or the work of each thread (role B).

A harness that confuses them measures nothing useful: threads that all return at once, or one that works for all.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kpd.onboarding.launch_configs import LaunchConfig
from kpd.source.kernels import Kernel, Parameter
from kpd.source.source import Source
from kpd.source.tree import walk

if TYPE_CHECKING:
    from kpd.source.tree import Node

Role = Literal["A", "B", "other"]
_INDEX = frozenset(("threadIdx", "blockIdx"))
_BUILT_IN = _INDEX | {"blockDim", "gridDim"}
_COMPARES = frozenset(("<", "<=", ">", ">=", "==", "!="))
_CAST_WORDS = frozenset(
    ("int", "long", "unsigned", "size_t", "uint32_t", "int64_t", "uint64_t", "int32_t", "static_cast")
)
_LOOPS = ("for_statement", "while_statement", "do_statement")
NEAR = 0.9
"""A bound of at least this share of the threads counts as a bound of all of them."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """An argument that is no pointer, its role, and why. `values` maps configurations to its values."""

    name: str
    type: str
    role: Role
    reason: str
    values: Mapping[str, int | float]


def scalars(source: Source, kernel: Kernel, configs: Sequence[LaunchConfig]) -> tuple[Scalar, ...]:
    """Classify every scalar of the kernel, in the order of its arguments. One that the table lacks has no values."""
    nodes = list(walk(kernel.scope.node))
    values = list(_values(source, nodes))
    indices = _thread_indices(values)
    return tuple(
        _scalar(source, nodes, indices, _stand_ins(values, one.name), one, configs)
        for one in kernel.parameters
        if one.name and not one.pointer
    )


def _scalar(
    source: Source,
    nodes: "Sequence[Node]",
    indices: set[str],
    names: set[str],
    one: Parameter,
    configs: Sequence[LaunchConfig],
) -> Scalar:
    values = {config.name: config.scalars[one.name] for config in configs if one.name in config.scalars}
    bounds = list(_bounds(source, nodes, indices, names))
    fits = _fits(one.name, configs)
    for wanted in ("guard", "stride", "loop"):
        for kind, text, place in bounds:
            if kind == wanted:
                return Scalar(one.name, one.type, *_judged(kind, f"{text} at line {place}", fits), values)
    if fits is not None and fits[0]:
        return Scalar(one.name, one.type, "A", fits[1], values)
    return Scalar(one.name, one.type, "other", "the source bounds neither threads nor a loop with it", values)


def _judged(kind: str, where: str, fits: tuple[bool, str] | None) -> tuple[Role, str]:
    seen = f"; {fits[1]}" if fits is not None else ""
    if kind == "guard":
        return "A", f"it bounds the threads that have work: {where}{seen}"
    if kind == "loop":
        return "B", f"it bounds a loop that each thread runs: {where}"
    if fits is not None and fits[0]:
        return "A", f"threads stride up to it, and there is about one of them for each: {where}{seen}"
    return "B", f"threads stride up to it, so it sets how often each goes round: {where}{seen}"


def _fits(name: str, configs: Sequence[LaunchConfig]) -> tuple[bool, str] | None:
    """Return whether the observed values are about the number of threads, in all or along an axis, and a sentence.

    None without observed values.
    """
    found = [(config, config.scalars[name]) for config in configs if name in config.scalars]
    if not found:
        return None
    for what in ("of the grid", "along x", "along y", "along z"):
        if all(_about(value, _threads(config, what)) for config, value in found):
            return True, f"observed {found[0][1]} for {_threads(found[0][0], what)} threads {what}"
    return False, f"observed {found[0][1]} for {_threads(found[0][0], 'of the grid')} threads of the grid"


def _threads(config: LaunchConfig, what: str) -> int:
    x, y, z = (blocks * threads for blocks, threads in zip(config.grid, config.block, strict=True))
    return {"along x": x, "along y": y, "along z": z}.get(what, x * y * z)


def _about(value: int | float, threads: int) -> bool:
    return threads > 1 and NEAR * threads <= value <= threads


def _values(source: Source, nodes: "Sequence[Node]") -> Iterator[tuple[str, list[str]]]:
    """Yield each variable that is set, with the words of its value."""
    for node in nodes:
        if node.type in ("init_declarator", "assignment_expression"):
            before, after = ("declarator", "value") if node.type == "init_declarator" else ("left", "right")
            if name := re.search(r"[A-Za-z_]\w*$", source.spelled(node.child_by_field_name(before))):
                yield name[0], _words(source.spelled(node.child_by_field_name(after)))


def _words(text: str) -> list[str]:
    return re.findall(r"\b[A-Za-z_]\w*", text)


def _thread_indices(values: Sequence[tuple[str, list[str]]]) -> set[str]:
    """Return the variables that depend on a thread's position, directly or through others."""
    found = set(_INDEX)
    grown = True
    while grown:
        new = {name for name, words in values if name not in found | _BUILT_IN and not found.isdisjoint(words)}
        found |= new
        grown = bool(new)
    return found


def _stand_ins(values: Sequence[tuple[str, list[str]]], name: str) -> set[str]:
    """Return the scalar, and variables that only rename or cast it."""
    found = {name}
    for other, words in values:
        if words and words[-1] in found and len(set(words) - _CAST_WORDS) == 1:
            found.add(other)
    return found


def _bounds(
    source: Source, nodes: "Sequence[Node]", indices: set[str], names: set[str]
) -> Iterator[tuple[str, str, int]]:
    """Yield each bound that the scalar sets: its kind, its text and its line.

    The kind is "guard" for a bound of threads, "stride" for a loop over threads, "loop" for a loop of each thread.
    """
    for node in nodes:
        if node.type != "if_statement" and node.type not in _LOOPS:
            continue
        loop, condition = node.type in _LOOPS, node.child_by_field_name("condition")
        begun = condition if node.type == "do_statement" and condition is not None else node
        line = source.token(begun.start_byte).line
        for part in _conditions(condition):
            words = set(_words(source.spelled(part)))
            if not words & names or not any(_compares(source, each) for each in walk(part)):
                continue
            if not loop and words & indices and words - names - _BUILT_IN:
                yield "guard", source.spelled(part), line
            elif loop:
                yield "stride" if words & indices else "loop", _inside(source, node), line


def _conditions(node: "Node | None") -> "Iterator[Node]":
    """Yield the parts of a condition between && and ||."""
    waiting = [node] if node is not None else []
    while waiting:
        part = waiting.pop()
        operator = part.child_by_field_name("operator")
        joined = part.type == "binary_expression" and operator is not None and operator.type in ("&&", "||")
        if joined or part.type in ("condition_clause", "parenthesized_expression"):
            waiting += reversed(part.named_children)
        else:
            yield part


def _compares(source: Source, node: "Node") -> bool:
    operator = source.spelled(node.child_by_field_name("operator"))
    return node.type == "binary_expression" and operator in _COMPARES


def _inside(source: Source, loop: "Node") -> str:
    """Return the text in the brackets of a loop."""
    body, condition = loop.child_by_field_name("body"), loop.child_by_field_name("condition")
    if loop.type != "for_statement" or body is None:
        return source.spelled(condition).removeprefix("(").removesuffix(")")
    text = " ".join(source.text[loop.start_byte : body.start_byte].split())
    return text.partition("(")[2].rstrip().removesuffix(")")
