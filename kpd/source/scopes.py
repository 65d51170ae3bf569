"""Defines scopes and what they declare: namespaces, functions, variables."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kpd.source.tree import Node

ScopeKind = Literal["file", "namespace", "struct", "enum", "function", "lambda", "block", "condition"]
BindingKind = Literal["variable", "parameter", "template", "enumerator", "function", "type"]
LOOPS = ("for_statement", "for_range_loop", "while_statement", "do_statement")


@dataclass(frozen=True, slots=True)
class Binding:
    """A name declared at the offset `at`. `value` is the text of its initial value.

    `style` says how that is given: after `=`, in `(` or `{`, or not at all.
    """

    name: str
    kind: BindingKind
    type: str
    at: int
    constant: bool = False
    local: bool = False
    style: Literal["=", "(", "{", ""] = ""
    value: str = ""
    function: "Scope | None" = None


@dataclass(slots=True, eq=False)
class Scope:
    """A region of the source, and its node."""

    kind: ScopeKind
    name: str
    parent: "Scope | None"
    node: "Node"
    start: int
    end: int
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    inner: list["Scope"] = field(default_factory=list)

    def bind(self, binding: Binding) -> None:
        self.bindings.setdefault(binding.name, []).append(binding)

    def named(self, kind: BindingKind) -> list[Binding]:
        """Return the bindings of this kind, in the order of the source."""
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
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            yield scope
            waiting += reversed(scope.inner)
