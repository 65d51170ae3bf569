"""The kernels that a source defines: arguments, templates, launch bounds, namespaces, and what they depend on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kpd.onboarding.names import Names
from kpd.onboarding.scopes import Scope
from kpd.onboarding.source import Source
from kpd.onboarding.tokens import Token, closing, spelled, split, template_end
from kpd.onboarding.values import Unknown, integer

_BOUNDS = "__launch_bounds__"


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
    """One value of `__launch_bounds__`: as it stands there, and the number where it is known."""

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
    """A `__global__` function. `namespaces` has an empty name for one that has none."""

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
    """Every kernel that the source defines, in its order."""
    functions = (scope for scope in source.top.everything() if scope.kind == "function")
    return tuple(
        _kernel(source, scope) for scope in functions if any(token.text == "__global__" for token in scope.head)
    )


def dependencies(source: Source, kernel: Kernel) -> tuple[Dependency, ...]:
    """What the source declares and the kernel uses, directly or not, by kind and name; of macros all that are used."""
    found: set[Dependency] = set()
    seen = {kernel.scope.start}
    waiting = [_words(source, kernel.scope)]
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
    """What `name` may be outside all functions: its place, what it is, and the words in it."""
    for scope in source.top.everything():
        if scope.kind in ("struct", "enum", "function") and scope.name == name and _outside(scope):
            yield scope.start, Dependency(scope.kind, name, source.tokens[scope.start].place), _words(source, scope)
        if scope.kind not in ("file", "namespace"):
            continue
        for binding in scope.bindings.get(name, ()):
            if binding.kind in ("variable", "enumerator") or (binding.kind == "type" and binding.value):
                kind = "type" if binding.kind == "type" else "constant" if binding.constant else "variable"
                words = {token.text for token in binding.value if token.kind == "word"}
                yield binding.at, Dependency(kind, name, binding.place), words | set(binding.type.split())


def _outside(scope: Scope) -> bool:
    return all(one.kind in ("file", "namespace", "struct") for one in list(scope.outwards)[1:])


def _words(source: Source, scope: Scope) -> set[str]:
    tokens = (*scope.head, *source.tokens[scope.start : scope.end])
    return {token.text for token in tokens if token.kind == "word"}


def _kernel(source: Source, scope: Scope) -> Kernel:
    head = scope.head
    opening = _arguments(head, scope.name)
    arguments = split(head[opening + 1 : closing(head, opening)])
    start = template_end(head, 1) or 1 if head[0].text == "template" else 0
    return Kernel(
        name=scope.name,
        place=head[opening - 1].place,
        parameters=tuple(_parameter(part) for part in arguments if [token.text for token in part] != ["void"]),
        template=tuple(_parameter(part) for part in split(head[2 : start - 1])) if start else (),
        bounds=tuple(_bounds(source, scope)),
        namespaces=scope.path,
        c_linkage=any(token.text == '"C"' for token in head) or _in_c(source, scope),
        scope=scope,
    )


def _in_c(source: Source, scope: Scope) -> bool:
    """Whether it stands in braces after extern "C"."""
    around = [one for one in scope.outwards if one.kind == "namespace" and not one.name]
    return any(source.tokens[one.start - 1].text == '"C"' for one in around)


def _arguments(head: Sequence[Token], name: str) -> int:
    """The index of the bracket that opens the arguments."""
    return next(at + 1 for at in range(len(head) - 1) if head[at].text == name and head[at + 1].text == "(")


def _parameter(part: Sequence[Token]) -> Parameter:
    """What is declared there, without what it is by default."""
    kept = split(part, "=")[0] if part else []
    bracket = next((at for at, token in enumerate(kept) if token.text == "["), len(kept))
    names = [at for at, token in enumerate(kept[:bracket]) if token.kind == "word"]
    if not names or (len(names) == 1 and bracket == len(kept)):
        return Parameter(spelled(kept), "")
    name = names[-1]
    return Parameter(spelled(kept[:name]) + spelled(kept[name + 1 :]), kept[name].text)


def _bounds(source: Source, scope: Scope) -> Iterator[Bounds]:
    head = scope.head
    at = next((at for at, token in enumerate(head) if token.text == _BOUNDS), None)
    if at is None:
        return
    names = Names(source, scope.start)
    for part in split(head[at + 2 : closing(head, at + 1)]):
        try:
            yield Bounds(spelled(part), integer(names.value(part)))
        except Unknown as err:
            yield Bounds(spelled(part), None, str(err))
