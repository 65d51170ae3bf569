"""Evaluates C expressions: operators and casts here, names and calls through a `NameLookup`."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from kpd.source import values
from kpd.source.tree import parsed
from kpd.source.values import Array, Dim3, StructValue, Unknown, Value

if TYPE_CHECKING:
    from kpd.source.tree import Node

_CASTS = ("static_cast", "reinterpret_cast", "const_cast")
_BEFORE = "auto _ = "


class NameLookup(Protocol):
    """The meaning of an expression's names at its place. Every method raises Unknown where it cannot tell."""

    def word(self, path: Sequence[str]) -> Value:
        """Return the value of a variable, constant or enumerator; the last part of `path` is its own name."""

    def field(self, path: Sequence[str]) -> Value:
        """Return the value of `a.b.c` or `a->b->c` where `a` itself is not known."""

    def call(self, path: Sequence[str], template: Sequence[str], given: Sequence[Value]) -> Value:
        """Return the result of a call of the function `path`; `template` is the text of each template argument."""


def evaluate(text: str, names: NameLookup) -> Value:
    """Evaluate the expression `text`. Raises Unknown where its value cannot be told."""
    if not text.strip():
        raise Unknown("there is no expression")
    root = _read(text)
    if root is None:
        raise Unknown(f"{one_line(text)} is not understood here")
    return _Worth(_BEFORE + text, names).of(root)


def arguments(text: str) -> list[str]:
    """Split `text` at its commas into expressions. Raises Unknown where it is no such list."""
    if not text.strip():
        return []
    return items(f"{{{text}}}")


def items(text: str) -> list[str]:
    """Split a list in braces into its parts. Raises Unknown for anything else."""
    root = _read(text)
    if root is None or root.type != "initializer_list":
        raise Unknown(f"{one_line(text)} is not in braces")
    whole = _BEFORE + text
    return [whole[part.start_byte : part.end_byte] for part in root.named_children]


def one_line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _read(text: str) -> "Node | None":
    """Parse an expression, or a list in braces, that is the whole text; None where it has an error."""
    root = parsed("cuda", f"{_BEFORE}{text};")
    if root.has_error or root.child_count != 1 or len(declared := root.children[0].named_children) != 2:
        return None
    return declared[1].child_by_field_name("value")


class _Worth:
    def __init__(self, text: str, names: NameLookup) -> None:
        self._text = text
        self._names = names

    def of(self, node: "Node | None") -> Value:
        if node is None:
            raise Unknown("there is no expression")
        text = self._spelled(node)
        match node.type:
            case "number_literal":
                return values.number(text)
            case "true" | "false":
                return int(node.type == "true")
            case "parenthesized_expression" if node.named_child_count == 1:
                return self.of(node.named_children[0])
            case "unary_expression":
                return self._unary(node)
            case "binary_expression":
                left, right = (self.of(node.child_by_field_name(side)) for side in ("left", "right"))
                return values.combine(self._field(node, "operator"), left, right)
            case "conditional_expression":
                return self._chosen(node)
            case "cast_expression":
                return self._cast(self._field(node, "type"), node.child_by_field_name("value"))
            case "call_expression":
                return self._call(node)
            case "compound_literal_expression":
                return self._braced(node)
            case "sizeof_expression":
                return self._size(text.removeprefix("sizeof"))
            case "update_expression" | "assignment_expression":
                raise Unknown("a value that changes while it is read")
            case "initializer_list":
                raise Unknown("a value in braces is not understood here")
            case "identifier" | "qualified_identifier" | "field_expression" | "subscript_expression":
                value = self._place(node)[1]
                if isinstance(value, Unknown):
                    raise value
                return value
        raise Unknown(f"{text} is not understood here")

    def _unary(self, node: "Node") -> Value:
        operator, value = self._field(node, "operator"), values.numeric(self.of(node.child_by_field_name("argument")))
        match operator:
            case "-":
                return -value
            case "+":
                return value
            case "!":
                return int(not value)
            case "~":
                return ~values.integer(value)
        raise Unknown(f"{self._spelled(node)} is not understood here")

    def _chosen(self, node: "Node") -> Value:
        condition, yes, no = (node.child_by_field_name(part) for part in ("condition", "consequence", "alternative"))
        try:
            truth = values.numeric(self.of(condition))
        except Unknown as err:
            one, other = self.of(yes), self.of(no)
            if one != other:
                raise Unknown(f"depends on a condition, {self._field(node, 'condition')}: {err}") from err
            return one
        return self.of(yes if truth else no)

    def _cast(self, type: str, value: "Node | None") -> Value:
        if not values.plain(type):
            raise Unknown(f"the result of a cast to {type} is not known here")
        return values.converted(type, self.of(value))

    def _call(self, node: "Node") -> Value:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        named = given.named_children if given is not None else []
        if function is None or given is None or len(node.named_children) != 2:
            raise Unknown(f"{self._spelled(node)} is not understood here")
        text = self._spelled(function)
        inner = text[1:-1] if function.type == "parenthesized_expression" else text
        if values.plain(inner):
            if len(named) != 1:
                raise Unknown(f"{inner} of more than one value")
            return values.converted(inner, self.of(named[0]))
        path, template = self._called(function)
        if path[-1] in _CASTS and len(template) == 1 and len(named) == 1:
            if values.kind_of(template[0]) not in (*values.SIZES, "dim3"):
                raise Unknown(f"the result of a cast to {template[0]} is not known here")
            return values.converted(template[0], self.of(named[0]))
        return self._names.call(path, template, [self.of(each) for each in named])

    def _called(self, function: "Node") -> tuple[list[str], list[str]]:
        """Return the path of a function's name, and its template arguments."""
        path, template = [], list[str]()
        here: Node | None = function
        while here is not None and here.type == "qualified_identifier":
            scope = here.child_by_field_name("scope")
            if scope is not None and scope.type == "template_type":
                raise Unknown(f"{self._spelled(function)} depends on a template")
            path.append(self._field(here, "scope"))
            here = here.child_by_field_name("name")
        if here is not None and here.type == "template_function":
            given = here.child_by_field_name("arguments")
            template = [self._spelled(each) for each in given.named_children] if given is not None else []
            here = here.child_by_field_name("name")
        if here is None or here.type != "identifier":
            raise Unknown(f"{self._spelled(function)}() is not known here")
        return [*path, self._spelled(here)], template

    def _braced(self, node: "Node") -> Value:
        type, given = self._field(node, "type"), node.child_by_field_name("value")
        named = [self.of(each) for each in given.named_children] if given is not None else []
        if values.plain(type) and len(named) == 1:
            return values.converted(type, named[0])
        if type != "dim3":
            raise Unknown(f"{type} in braces is not understood here")
        return values.dim3(named)

    def _size(self, of: str) -> int:
        kind = values.kind_of(of.strip().removeprefix("(").removesuffix(")"))
        if kind not in values.SIZES:
            raise Unknown(f"the size of {kind} is not known here")
        return values.SIZES[kind]

    def _place(self, node: "Node | None") -> tuple[list[str], Value | Unknown]:
        """Return the path to a variable or to a part of one, and its value, or why that is unknown."""
        if node is not None and node.type in ("identifier", "qualified_identifier"):
            path = self._called(node)[0]
            try:
                return path, self._names.word(path)
            except Unknown as err:
                return path, err
        if node is not None and node.type == "field_expression":
            path, value = self._place(node.child_by_field_name("argument"))
            path = [*path, self._field(node, "field")]
            return path, self._member(value, path)
        if node is not None and node.type == "subscript_expression":
            path, value = self._place(node.child_by_field_name("argument"))
            indices = node.child_by_field_name("indices")
            if indices is None or indices.named_child_count != 1:
                return path, Unknown(f"{self._spelled(node)} is not understood here")
            return path, _element(value, values.integer(self.of(indices.named_children[0])), path)
        return [], self.of(node)

    def _member(self, value: Value | Unknown, path: list[str]) -> Value | Unknown:
        name = path[-1]
        if isinstance(value, Dim3) and name in value._fields:
            return int(getattr(value, name))
        if isinstance(value, StructValue) and name in value.fields:
            return value.fields[name]
        try:
            return self._names.field(path)
        except Unknown as err:
            return err

    def _field(self, node: "Node", name: str) -> str:
        found = node.child_by_field_name(name)
        return self._spelled(found) if found is not None else ""

    def _spelled(self, node: "Node") -> str:
        return one_line(self._text[node.start_byte : node.end_byte])


def _element(value: Value | Unknown, index: int, path: Sequence[str]) -> Value | Unknown:
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Array) and 0 <= index < len(value.items):
        return value.items[index]
    return Unknown(f"{'.'.join(path)} has no element {index} that is known here")
