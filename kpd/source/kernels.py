"""Finds the kernels that a source defines: arguments, templates, launch bounds, namespaces, dependencies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kpd.source.names import SourceNames
from kpd.source.scan import parameter_name, parameter_type
from kpd.source.scopes import Scope
from kpd.source.source import Source
from kpd.source.tree import function_part
from kpd.source.values import Unknown, integer

if TYPE_CHECKING:
    from kpd.source.tree import Node


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a kernel, as (type, name)."""

    type: str
    name: str

    @property
    def pointer(self) -> bool:
        return "*" in self.type or "[" in self.type


@dataclass(frozen=True, slots=True)
class Bounds:
    """One value of `__launch_bounds__`: its text, and the number where that is known, else `why` it is not."""

    text: str
    value: int | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A declaration that the kernel needs, directly or through others: "macro", "struct", "constant", "function" …"""

    kind: str
    name: str
    place: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A `__global__` function. A namespace without a name is an empty string in `namespaces`."""

    name: str
    place: str
    parameters: tuple[Parameter, ...]
    template: tuple[Parameter, ...]
    bounds: tuple[Bounds, ...]
    namespaces: tuple[str, ...]
    c_linkage: bool
    scope: Scope

    @property
    def qualified(self) -> str:
        return "::".join([*(name for name in self.namespaces if name), self.name])

    @property
    def signature(self) -> str:
        template = ", ".join(f"{one.type} {one.name}" for one in self.template)
        arguments = ", ".join(f"{one.type} {one.name}" for one in self.parameters)
        return f"{f'template <{template}> ' if template else ''}void {self.qualified}({arguments})"


def kernels(source: Source) -> tuple[Kernel, ...]:
    """Find every kernel that the source defines, in its order."""
    functions = (scope for scope in source.top.everything() if scope.kind == "function")
    return tuple(_kernel(source, scope) for scope in functions if "__global__" in _head(source, scope))


def dependencies(source: Source, kernel: Kernel) -> tuple[Dependency, ...]:
    """Find what the source declares and the kernel uses, directly or not, sorted by kind and name.

    Of macros, all that the source uses are included.
    """
    found: set[Dependency] = set()
    seen = {kernel.scope.start}
    waiting = [_words(_whole(source, kernel.scope))]
    while waiting:
        for name in waiting.pop():
            for start, dependency, words in _declared(source, name):
                if start not in seen:
                    seen.add(start)
                    found.add(dependency)
                    waiting.append(words)
    found |= {Dependency("macro", one.name, one.place) for one in source.read.used.values()}
    return tuple(sorted(found, key=lambda one: (one.kind, one.name, one.place)))


def _declared(source: Source, name: str) -> Iterator[tuple[int, Dependency, set[str]]]:
    """Yield each declaration of `name` outside functions: its offset, what it is, and the words in it."""
    for scope in source.top.everything():
        if scope.kind in ("struct", "enum", "function") and scope.name == name and _outside(scope):
            place = source.place(_body(scope))
            yield scope.start, Dependency(scope.kind, name, place), _words(_whole(source, scope))
        if scope.kind not in ("file", "namespace"):
            continue
        for binding in scope.bindings.get(name, ()):
            if binding.kind in ("variable", "enumerator") or (binding.kind == "type" and binding.value):
                kind = "type" if binding.kind == "type" else "constant" if binding.constant else "variable"
                words = _words(f"{binding.value} {binding.type}")
                yield binding.at, Dependency(kind, name, source.place(binding.at)), words


def _outside(scope: Scope) -> bool:
    return all(one.kind in ("file", "namespace", "struct") for one in list(scope.outwards)[1:])


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _body(scope: Scope) -> int:
    body = scope.node.child_by_field_name("body")
    return body.start_byte if body is not None else scope.start


def _around(scope: Scope) -> "Iterator[Node]":
    """Yield the node of a function, then the nodes around it, such as its template and linkage."""
    node: Node | None = scope.node
    while node is not None:
        yield node
        node = node.parent


def _whole(source: Source, scope: Scope) -> str:
    """Return the text of a function or type, with the head of its template."""
    above = scope.node.parent
    return source.spelled(above if above is not None and above.type == "template_declaration" else scope.node)


def _head(source: Source, scope: Scope) -> str:
    return source.text[scope.start : _body(scope)]


def _kernel(source: Source, scope: Scope) -> Kernel:
    named = source.top if scope.parent is None else scope.parent
    at = next(binding.at for binding in named.bindings[scope.name] if binding.function is scope)
    declarator = function_part(scope.node.child_by_field_name("declarator"))
    taken = declarator.child_by_field_name("parameters") if declarator is not None else None
    above = scope.node.parent
    template = above.child_by_field_name("parameters") if above is not None else None
    arguments = tuple(_parameters(source, taken))
    return Kernel(
        name=scope.name,
        place=source.place(at),
        parameters=() if arguments == (Parameter("void", ""),) else arguments,
        template=tuple(_parameters(source, template)),
        bounds=tuple(_bounds(source, scope)),
        namespaces=scope.path,
        c_linkage=any(
            source.spelled(node.child_by_field_name("value")) == '"C"'
            for node in _around(scope)
            if node.type == "linkage_specification"
        ),
        scope=scope,
    )


def _parameters(source: Source, given: "Node | None") -> Iterator[Parameter]:
    """Yield the declared parameters, without their default values."""
    for each in given.named_children if given is not None else ():
        if each.type.endswith("parameter_declaration"):
            name = parameter_name(each)
            yield Parameter(parameter_type(source.text, each, name), source.spelled(name))


def _bounds(source: Source, scope: Scope) -> Iterator[Bounds]:
    found = next((node for node in scope.node.children if node.type == "launch_bounds"), None)
    names = SourceNames(source, scope.start)
    for each in found.named_children if found is not None else ():
        text = source.spelled(each)
        try:
            yield Bounds(text, integer(names.value(text)))
        except Unknown as err:
            yield Bounds(text, None, str(err))
