"""Evaluates names at a place in a source: constants, variables set once, parameters of a known launch."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kpd.source import values
from kpd.source.changes import changes
from kpd.source.expressions import arguments, evaluate, items
from kpd.source.scopes import Binding, Scope
from kpd.source.source import Source
from kpd.source.values import StructValue, Unknown, Value

if TYPE_CHECKING:
    from kpd.source.changes import Change
    from kpd.source.tree import Node

MOST_STEPS = 20_000


@dataclass(slots=True)
class _Steps:
    left: int = MOST_STEPS


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The names at the offset `at` of `source`, in a launch whose scalars are `known`.

    `frame` holds the values of the parameters of functions that are being evaluated, `record` the value of every
    `const kpd_case *`.
    """

    source: Source
    at: int
    known: Mapping[str, int | float] = field(default_factory=dict)
    record: StructValue | None = None
    frame: Mapping[int, Value] = field(default_factory=dict)
    steps: _Steps = field(default_factory=_Steps)

    def value(self, text: str) -> Value:
        """Evaluate an expression at this place. Raises Unknown."""
        try:
            return evaluate(text, self)
        except RecursionError:
            raise Unknown("it goes in circles, or is nested too deeply") from None

    def word(self, path: Sequence[str]) -> Value:
        self._step()
        name = path[-1]
        if name in self.source.read.opaque:
            raise Unknown(self.source.read.opaque[name])
        found = self.source.qualified(path) if len(path) > 1 else self.source.find(name, self.at)
        if not found:
            if len(path) == 1 and name in self.known:
                return self.known[name]
            raise Unknown(f"nothing here says what {'::'.join(path)} is")
        if len(found) > 1:
            places = " and ".join(self.source.place(binding.at) for binding in found[:3])
            raise Unknown(f"{name} is declared more than once, at {places}")
        if not self.source.certain(found[0].at, self.at):
            raise Unknown(f"{name} is declared in some builds only, at {self.source.place(found[0].at)}")
        return self._bound(found[0])

    def field(self, path: Sequence[str]) -> Value:
        self._step()
        base, name = path[0], path[-1]
        if len(path) == 2 and (found := self.source.find(base, self.at)) and len(found) == 1:
            set_at = [node for node, part in self._changes(found[0]) if part in (name, "")]
            if set_at:
                return self._straight(set_at, f"{base}.{name}")
        if name in self.known:
            return self.known[name]
        raise Unknown(f"nothing here says what {'.'.join(path)} is")

    def call(self, path: Sequence[str], template: Sequence[str], given: Sequence[Value]) -> Value:
        self._step()
        name = path[-1]
        found = [one for one in self.source.functions(name, self.at) if len(one.named("parameter")) == len(given)]
        if not found:
            return values.builtin(name, given)
        if len(found) > 1:
            raise Unknown(f"there is more than one {name}()")
        function = found[0]
        body = function.node.child_by_field_name("body")
        statements = body.named_children if body is not None else []
        if len(statements) != 1 or statements[0].type != "return_statement" or statements[0].has_error:
            raise Unknown(f"{name}() does more than return an expression")
        inner = replace(self, at=statements[0].start_byte, frame=self._entered(function, template, given))
        returned = self.source.spelled(statements[0]).removeprefix("return").removesuffix(";")
        return values.converted(self._returns(function), inner.value(returned))

    def _entered(self, function: Scope, template: Sequence[str], given: Sequence[Value]) -> dict[int, Value]:
        frame = dict(self.frame)
        for binding, value in zip(function.named("parameter"), given, strict=True):
            frame[binding.at] = values.converted(binding.type, value)
        for binding, part in zip(function.named("template"), template, strict=False):
            if not binding.type.startswith(("typename", "class")):
                frame[binding.at] = self.value(part)
        return frame

    def _returns(self, function: Scope) -> str:
        """Return the type that the function's head declares it to return."""
        return self.source.spelled(function.node.child_by_field_name("type"))

    def _bound(self, binding: Binding) -> Value:
        if binding.at in self.frame:
            return self.frame[binding.at]
        if binding.kind == "template":
            return self._instantiated(binding)
        if binding.kind == "parameter":
            return self._parameter(binding)
        if binding.kind in ("function", "type"):
            raise Unknown(f"{binding.name} is not a value")
        try:
            return self._variable(binding)
        except Unknown:
            if binding.name in self.known and not self._changes(binding):
                return self.known[binding.name]
            raise

    def _parameter(self, binding: Binding) -> Value:
        owner = self.source.owners[binding.at]
        where = f"{owner.name}()" if owner.name else "a function without a name"
        if self.record is not None and re.search(r"\bkpd_case\b", binding.type):
            return self.record
        if binding.name not in self.known:
            raise Unknown(f"{binding.name} is a parameter of {where}")
        if self._changes(binding):
            raise Unknown(f"{binding.name} is changed in {where}, so the observed value may be another")
        return self.known[binding.name]

    def _variable(self, binding: Binding) -> Value:
        if "[]" in binding.type:
            raise Unknown(f"{binding.name} is an array, and none of its elements is followed here")
        set_at = [] if binding.constant else self._changes(binding)
        whole = [node for node, part in set_at if not part]
        if whole and binding.style:
            raise Unknown(f"{binding.name} is set again, at {self._places(whole)}")
        if not whole and not binding.constant and not binding.local:
            raise Unknown(f"{binding.name} is neither const nor static: it may be set elsewhere")
        if not binding.constant:
            self._refuse_errors(binding)
        value = self._straight(whole, binding.name) if whole else self._initial(binding)
        value = values.converted(binding.type, value) if whole else value
        for part in ("x", "y", "z"):
            of_part = [node for node, name in set_at if name == part]
            if of_part and isinstance(value, values.Dim3):
                size = values.integer(self._straight(of_part, f"{binding.name}.{part}"))
                if whole and of_part[0].start_byte < whole[0].start_byte:
                    raise Unknown(f"{binding.name} is set more than once, at {self._places([*of_part, *whole])}")
                value = value._replace(**{part: size})
        return value

    def _refuse_errors(self, binding: Binding) -> None:
        """Raise Unknown where code between a variable and this place cannot be parsed: it may change the variable."""
        if self.source.owners[binding.at].kind in ("file", "namespace", "struct"):
            return
        for node in self.source.errors:
            if binding.at < node.start_byte < self.at:
                place = self.source.place(node.start_byte)
                raise Unknown(f"{binding.name} may be changed at {place}, which cannot be read")

    def _initial(self, binding: Binding) -> Value:
        here = replace(self, at=binding.at)
        kind = values.kind_of(binding.type)
        if "&" in binding.type and binding.value.isidentifier():
            self._refuse_reference(binding, binding.value)
        listed = binding.value.startswith("{")
        if kind == "dim3" and (binding.style != "=" or listed):
            parts = items(binding.value) if listed else arguments(binding.value)
            return values.dim3([here.value(part) for part in parts])
        if not binding.style:
            place = self.source.place(binding.at)
            raise Unknown(f"{binding.name} has no value where it is declared, at {place}")
        return values.converted(binding.type, here.value(binding.value[1:-1] if listed else binding.value))

    def _refuse_reference(self, binding: Binding, name: str) -> None:
        """Raise Unknown for a reference to a variable that may change."""
        if any(one.kind == "variable" and not one.constant for one in self.source.find(name, binding.at)):
            raise Unknown(f"{binding.name} is another name for {name}, which may change")

    def _places(self, changes: "Sequence[Node]") -> str:
        return ", ".join(self.source.place(node.start_byte) for node in changes[:4])

    def _straight(self, changes: "Sequence[Node]", name: str) -> Value:
        """Evaluate the one assignment that always runs before this place. Raises Unknown for any other case."""
        places = self._places(changes)
        if len(changes) > 1:
            raise Unknown(f"{name} is set more than once, at {places}")
        at = changes[0].start_byte
        assignment: Node | None = changes[0]
        while assignment is not None and assignment.type != "assignment_expression":
            assignment = assignment.parent if assignment.type in ("identifier", "field_expression") else None
        statement = assignment.parent if assignment is not None else None
        around = list(self.source.scope(self.at).outwards)
        straight = at < self.at and self.source.scope(at) in around and self.source.certain(at, self.at)
        plain = assignment is not None and assignment.child_by_field_name("operator") is not None
        if (
            assignment is None
            or statement is None
            or statement.type != "expression_statement"
            or not (straight and plain)
            or self.source.spelled(assignment.child_by_field_name("operator")) != "="
        ):
            raise Unknown(f"{name} may be changed at {places}")
        return replace(self, at=at).value(self.source.spelled(assignment.child_by_field_name("right")))

    def _changes(self, binding: Binding) -> "list[Change]":
        return changes(self.source, binding, self.at, self._step)

    def _instantiated(self, binding: Binding) -> Value:
        """Return a template parameter's value, where all uses in this source give the same one. Raises Unknown."""
        owner = self.source.owners[binding.at]
        if binding.type.startswith(("typename", "class")):
            raise Unknown(f"{binding.name} is a template parameter")
        position = owner.named("template").index(binding)
        said = f"{binding.name} is a template parameter of {owner.name}()"
        if sum(one.kind == "function" and one.name == owner.name for one in self.source.top.everything()) > 1:
            raise Unknown(f"{said}, and there is more than one of that name")
        found: set[Value] = set()
        for node in self.source.words.get(owner.name, ()):
            given = self._template(node)
            if given is None or owner.start <= node.start_byte < owner.end:
                continue
            if position >= len(given):
                raise Unknown(f"{said}, and {self.source.place(node.start_byte)} does not say which")
            try:
                found.add(replace(self, at=node.start_byte, frame={}).value(given[position]))
            except Unknown as err:
                raise Unknown(f"{said}: {err}") from err
        if len(found) != 1:
            many = ", ".join(sorted(map(str, found)))
            raise Unknown(f"{said}, which is used with {many}" if found else f"{said}, which nothing here uses")
        return found.pop()

    def _template(self, name: "Node") -> list[str] | None:
        """Return the template arguments of a use of the function, [] for a call without any, None for no use."""
        around = name.parent
        if around is not None and around.type == "template_function":
            given = around.child_by_field_name("arguments")
            return [self.source.spelled(part) for part in given.named_children] if given is not None else []
        while around is not None and around.type == "qualified_identifier":
            around = around.parent
        return [] if around is not None and around.type == "call_expression" else None

    def _step(self) -> None:
        self.steps.left -= 1
        if self.steps.left < 0:
            raise Unknown("it takes too many steps to work out")
