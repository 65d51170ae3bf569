"""Finds kernel launches: `kernel<<<grid, block, shared, stream>>>(…)`, cudaLaunchKernel and the like."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kpd.source import values
from kpd.source.macros import Macro
from kpd.source.names import SourceNames
from kpd.source.source import Source
from kpd.source.tokens import spelled
from kpd.source.tree import parsed, walk
from kpd.source.values import Dim3, StructValue, Unknown

if TYPE_CHECKING:
    from kpd.source.tree import Node

MOST_GRID = (2**31 - 1, 65_535, 65_535)
MOST_BLOCK = (1024, 1024, 64)
MOST_THREADS = 1024
_BY_ARGUMENTS = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
_BY_CONFIG = ("cudaLaunchKernelEx", "cudaLaunchKernelExC")
_NAME = re.compile(r"(?:::\s*)?(?:\w+\s*::\s*)*(?:template\s+)?([A-Za-z_]\w*)\s*(?:<(.*)>)?")
_NOT_UNDERSTOOD = "what is launched is not understood here"
Callee = tuple[str, tuple[str, ...], str]
"""The kernel's name, its template arguments, and why the kernel is not known (empty if it is)."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A grid or a block: its size, or the reason why it is not known."""

    size: Dim3 | None
    why: str = ""

    @property
    def threads(self) -> int:
        return self.size.x * self.size.y * self.size.z if self.size else 0


@dataclass(frozen=True, slots=True)
class Launch:
    """A place where `kernel` is launched; `why` says why the kernel is not known, and is empty when it is.

    The other texts are as in the source, on one line.
    """

    kernel: str
    place: str
    at: int
    grid: str = ""
    block: str = ""
    template: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    shared: str = ""
    stream: str = ""
    why: str = ""


def launches(source: Source) -> tuple[Launch, ...]:
    """Find every launch in the source, in its order."""
    found = []
    for node in source.nodes:
        if node.type == "kernel_call_syntax":
            found.append(_chevrons(source, node))
        elif node.type == "call_expression":
            found += _call(source, node)
    known = {launch.at for launch in found}
    for mark in re.finditer(r"<<<+", source.text):
        if mark.start() not in known and source.token(mark.start()).text == "<":
            found.append(_launch(source, mark.start(), ("", (), _NOT_UNDERSTOOD)))
    for name in filter(lambda name: _launches(source.read.macros.get(name)), source.read.opaque):
        why = f"a macro launches it, and is not followed here: {source.read.opaque[name]}"
        found += [_launch(source, node.start_byte, ("", (), why)) for node in source.words.get(name, ())]
    return tuple(sorted(found, key=lambda launch: launch.at))


def resolve(
    source: Source, launch: Launch, known: Mapping[str, int | float], record: StructValue | None = None
) -> tuple[Extent, Extent]:
    """Compute grid and block of a launch whose scalars are `known`, or whose case is `record`.

    Nothing is guessed: an Extent without a size says why.
    """
    names = SourceNames(source, launch.at, known, record)
    return _extent(names, launch.grid, MOST_GRID, "grid"), _extent(names, launch.block, MOST_BLOCK, "block")


def fits(size: Dim3, block: bool) -> bool:
    """Return whether CUDA accepts a grid, or a block, of this size."""
    most = MOST_BLOCK if block else MOST_GRID
    few = not block or size.x * size.y * size.z <= MOST_THREADS
    return few and all(1 <= one <= limit for one, limit in zip(size, most, strict=True))


def _launches(macro: Macro | None) -> bool:
    return macro is not None and "<<<" in spelled(macro.body)


def _extent(names: SourceNames, text: str, most: tuple[int, int, int], what: str) -> Extent:
    if not text:
        return Extent(None, f"there is no {what}")
    try:
        size = values.dim3([names.value(text)])
    except Unknown as err:
        return Extent(None, f"{text}: {err}")
    if not fits(size, most is MOST_BLOCK):
        return Extent(None, f"{text} is {size}, which CUDA refuses as a {what}")
    return Extent(size)


def _launch(source: Source, at: int, callee: Callee, *config: str, arguments: Sequence[str] = ()) -> Launch:
    kernel, template, why = callee
    grid, block, shared, stream = (*config, "", "", "", "")[:4]
    return Launch(kernel, source.place(at), at, grid, block, template, tuple(arguments), shared, stream, why)


def _chevrons(source: Source, node: "Node") -> Launch:
    call, function = node.parent, node.prev_sibling  # after a macro without a semicolon, the second of two names
    odd = node.has_error or source.text[node.start_byte - 1] == "<"
    if odd or call is None or call.type != "call_expression" or function is None:
        return _launch(source, node.start_byte, ("", (), _NOT_UNDERSTOOD))
    config = [source.spelled(part) for part in node.named_children]
    callee = _named(source, source.spelled(function), node.start_byte)
    return _launch(source, node.start_byte, callee, *config, arguments=_given(source, call))


def _call(source: Source, node: "Node") -> Iterator[Launch]:
    name = _name(source.spelled(node.child_by_field_name("function")))
    given = _given(source, node) if name[0] in (*_BY_ARGUMENTS, *_BY_CONFIG) else []
    at = node.start_byte
    if name[0] in _BY_ARGUMENTS and len(given) >= 4:
        callee = _named(source, _uncast(given[0]), at)
        yield _launch(source, at, callee, given[1], given[2], *given[4:6], arguments=given[3:4])
    elif name[0] in _BY_CONFIG and len(given) >= 2:
        config = given[0].lstrip("&* ")
        callee = _named(source, _uncast(given[1]), at)
        yield _launch(source, at, callee, f"{config}.gridDim", f"{config}.blockDim", arguments=given[2:])


def _given(source: Source, call: "Node") -> list[str]:
    given = call.child_by_field_name("arguments")
    return [source.spelled(part) for part in given.named_children] if given is not None else []


def _name(text: str) -> tuple[str, str | None]:
    """Split a name into its last part and the text of its template arguments; the part is empty where it is no name."""
    found = _NAME.fullmatch(text)
    return (found[1], found[2]) if found else ("", None)


def _uncast(text: str) -> str:
    """Return the name in an argument, without casts to a pointer."""
    while found := re.match(
        r"\((?:[^()]|\([^()]*\))*\)\s*(?=[\w(&*:])|[&*]\s*|(?:reinterpret|static)_cast\s*<.*?>\s*", text
    ):
        text = text[found.end() :]
    return _uncast(text[1:-1]) if text.startswith("(") and text.endswith(")") else text


def _named(source: Source, text: str, at: int) -> Callee:
    """Find the kernel that a name stands for, also through variables that hold it."""
    name, given = _name(text)
    if not name:
        return "", (), "what is launched is computed"
    template = _template(given)
    found = [] if "::" in text else source.find(name, at)
    for binding in found:
        if binding.kind in ("parameter", "template"):
            return "", template, f"{name} is a parameter, so it is not known here which kernel it is"
        if binding.kind == "variable":
            if len(found) > 1 or not binding.style or re.search(r"[?\[(]", binding.value):
                return "", template, f"{name} is a variable, and may be one of several kernels"
            held, of = _name(binding.value.strip("{}& "))
            if not held:
                return "", template, f"{name} is a variable, and what it holds is not understood here"
            return held, _template(of) or template, ""
    return name, template, ""


def _template(text: str | None) -> tuple[str, ...]:
    """Split the text of template arguments."""
    if not text:
        return ()
    whole = f"auto _ = f<{text}>();"
    found = next((node for node in walk(parsed("cuda", whole)) if node.type == "template_argument_list"), None)
    return tuple(whole[part.start_byte : part.end_byte] for part in found.named_children) if found is not None else ()
