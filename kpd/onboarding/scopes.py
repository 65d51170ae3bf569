"""What a source declares, and where: namespaces, functions, variables, as far as launches and constants need them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from kpd.onboarding.tokens import Token

ScopeKind = Literal["file", "namespace", "struct", "enum", "function", "lambda", "block", "condition"]
BindingKind = Literal["variable", "parameter", "template", "enumerator", "function", "type"]


@dataclass(frozen=True, slots=True)
class Binding:
    """A name and what is said of it. `at` is the index of its token; `value` the tokens it begins as.

    `style` is how they stand there: after `=`, in `(` or `{`, or not at all.
    """

    name: str
    kind: BindingKind
    type: str
    at: int
    place: str
    constant: bool = False
    local: bool = False
    style: Literal["=", "(", "{", ""] = ""
    value: tuple[Token, ...] = ()
    function: "Scope | None" = None


@dataclass(slots=True, eq=False)
class Scope:
    """A region of the source, from the token `start` up to `end`. A function's `head` stands before its body."""

    kind: ScopeKind
    name: str
    parent: "Scope | None"
    start: int
    end: int = 0
    head: tuple[Token, ...] = ()
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    inner: list["Scope"] = field(default_factory=list)

    def bind(self, binding: Binding) -> None:
        self.bindings.setdefault(binding.name, []).append(binding)

    def named(self, kind: BindingKind) -> list[Binding]:
        """The bindings of this kind, in the order of the source."""
        found = (binding for group in self.bindings.values() for binding in group if binding.kind == kind)
        return sorted(found, key=lambda binding: binding.at)

    @property
    def outwards(self) -> Iterator["Scope"]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the namespaces and structs around it, the outermost first; "" for one without a name."""
        around = list(self.outwards)[1:]
        return tuple(scope.name for scope in reversed(around) if scope.kind in ("namespace", "struct"))

    def everything(self) -> Iterator["Scope"]:
        yield self
        for scope in self.inner:
            yield from scope.everything()
