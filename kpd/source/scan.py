"""Reads a syntax tree as nested scopes with their declarations; skips what it does not understand."""

import re
from typing import TYPE_CHECKING, Literal

from kpd.source.expressions import one_line
from kpd.source.scopes import Binding, Scope, ScopeKind
from kpd.source.tree import function_part, inner_declarator, last_name

if TYPE_CHECKING:
    from kpd.source.tree import Node

_KINDS: dict[str, ScopeKind] = {
    "namespace_definition": "namespace", "function_definition": "function", "lambda_expression": "lambda",
    "compound_statement": "block", "class_specifier": "struct", "struct_specifier": "struct",
    "union_specifier": "struct", "enum_specifier": "enum", "for_statement": "condition", "for_range_loop": "condition",
    "while_statement": "condition", "do_statement": "condition", "if_statement": "condition",
    "else_clause": "condition", "switch_statement": "condition", "case_statement": "condition",
    "catch_clause": "condition",
}  # fmt: skip
_WRAPPERS = ("pointer_declarator", "reference_declarator", "array_declarator", "parenthesized_declarator")
_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")
_TEMPLATE = ("type_parameter_declaration", "optional_type_parameter_declaration", *_PARAMETERS)


def scan(text: str, root: "Node") -> Scope:
    """Build the file's scope, with all scopes and declarations in it."""
    return _Scanner(text).scan(root)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lambdas: dict[int, Binding] = {}
        """The variables that hold lambdas, by the offsets of the lambdas."""

    def scan(self, root: "Node") -> Scope:
        top = Scope("file", "", None, root, 0, len(self._text))
        waiting = [(child, top) for child in reversed(root.children)]
        while waiting:
            node, scope = waiting.pop()
            if node.type in _TEMPLATE or (node.type in ("friend_declaration", "template_parameter_list")):
                continue
            inner = self._opened(node, scope) or scope
            self._declared(node, inner if node.type == "for_range_loop" else scope)
            for at in range(node.child_count - 1, -1, -1):
                child, place = node.children[at], inner
                if node.field_name_for_child(at) in ("consequence", "body") and inner.kind == "condition":
                    place = self._open("condition", "", inner, child)
                waiting.append((child, place))
        for scope in top.everything():
            scope.inner.sort(key=lambda one: one.start)
        return top

    def _open(self, kind: ScopeKind, name: str, scope: Scope, node: "Node") -> Scope:
        inner = Scope(kind, name, scope, node, node.start_byte, node.end_byte)
        scope.inner.append(inner)
        return inner

    def _opened(self, node: "Node", scope: Scope) -> Scope | None:
        """Open the scope that the node is, with the names in its head; None where it is no scope."""
        kind = _KINDS.get(node.type)
        body = node.child_by_field_name("body")
        if kind is None or (kind in ("struct", "enum") and body is None):
            return None
        name = self._spelled(node.child_by_field_name("name"))
        if kind == "condition":
            return self._open(kind, node.type, scope, node)
        if kind in ("struct", "enum"):
            if name:
                scope.bind(Binding(name, "type", node.type.partition("_")[0], node.start_byte))
            inner = self._open(kind, name, scope, node)
            if kind == "enum" and body is not None:
                self._enumerators(node, body, inner, scope)
            return inner
        if kind == "function":
            return self._function(node, scope)
        inner = self._open(kind, name, scope, node)
        if kind == "lambda":
            self._parameters(node.child_by_field_name("declarator"), inner)
            if holder := self._lambdas.get(node.start_byte):
                scope.bindings[holder.name] = [_as_function(holder, inner)]
        return inner

    def _function(self, node: "Node", scope: Scope) -> Scope | None:
        declarator = function_part(node.child_by_field_name("declarator"))
        named = last_name(declarator.child_by_field_name("declarator")) if declarator is not None else None
        if named is None:
            return None
        inner = self._open("function", self._spelled(named), scope, node)
        scope.bind(Binding(inner.name, "function", "", named.start_byte, constant=True, function=inner))
        self._parameters(declarator, inner)
        around = node.parent
        given = around.child_by_field_name("parameters") if around is not None else None
        if around is not None and around.type == "template_declaration" and given is not None:
            for each in given.named_children:
                if each.type in _TEMPLATE and (parameter := self._parameter(each)):
                    type, name = parameter
                    default = each.child_by_field_name("default_value") or each.child_by_field_name("default_type")
                    inner.bind(Binding(self._spelled(name), "template", type, name.start_byte, True,
                                       value=self._spelled(default)))  # fmt: skip
        return inner

    def _parameters(self, declarator: "Node | None", scope: Scope) -> None:
        given = declarator.child_by_field_name("parameters") if declarator is not None else None
        for each in given.named_children if given is not None else ():
            if each.type in _PARAMETERS and (parameter := self._parameter(each)):
                type, name = parameter
                constant = "const" in type.split() and "*" not in type
                scope.bind(Binding(self._spelled(name), "parameter", type, name.start_byte, constant=constant))

    def _parameter(self, node: "Node") -> "tuple[str, Node] | None":
        """Return type and name of a parameter; None for one without a name."""
        name = parameter_name(node)
        return (parameter_type(self._text, node, name), name) if name is not None else None

    def _enumerators(self, node: "Node", body: "Node", inner: Scope, scope: Scope) -> None:
        scoped = any(child.type in ("class", "struct") for child in node.children)
        before = ""
        for each in body.named_children:
            name = each.child_by_field_name("name")
            if each.type != "enumerator" or name is None:
                continue
            value = self._spelled(each.child_by_field_name("value")) or before
            found = Binding(self._spelled(name), "enumerator", inner.name, name.start_byte, True, style="=",
                            value=value or "0")  # fmt: skip
            inner.bind(found)
            if not scoped:
                scope.bind(found)
            before = f"{found.name} + 1"

    def _declared(self, node: "Node", scope: Scope) -> None:
        """Bind the names that the node itself declares."""
        match node.type:
            case "declaration" | "field_declaration" | "for_range_loop":
                self._variables(node, scope)
            case "alias_declaration" | "type_definition":
                name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
                value = self._spelled(node.child_by_field_name("type"))
                if name is not None:
                    scope.bind(Binding(self._spelled(name), "type", "", name.start_byte, True, value=value))
            case "lambda_capture_initializer":
                name, given = node.child_by_field_name("left"), node.child_by_field_name("right")
                if name is not None:
                    scope.bind(Binding(self._spelled(name), "variable", "auto", name.start_byte, True, True, "=",
                                       self._spelled(given)))  # fmt: skip

    def _variables(self, node: "Node", scope: Scope) -> None:
        declarators = node.children_by_field_name("declarator")
        if not declarators:
            return
        head = self._text[node.start_byte : declarators[0].start_byte]
        words = re.sub(r"\[\[.*?\]\]|\b(?:__\w+__|alignas)\b\s*(?:\((?:[^()]|\([^()]*\))*\))?", " ", head).split()
        for at, each in enumerate(declarators):
            end = declarators[at + 1].start_byte if at + 1 < len(declarators) else node.end_byte
            own = [*node.children_by_field_name("value"), *node.children_by_field_name("default_value")]
            given = next((value for value in own if each.end_byte <= value.start_byte < end), None)
            inner = each.child_by_field_name("declarator") if each.type == "init_declarator" else each
            self._variable(node, scope, words, inner, each.child_by_field_name("value") or given)

    def _variable(
        self, node: "Node", scope: Scope, words: list[str], declarator: "Node | None", value: "Node | None"
    ) -> None:
        marks: list[str] = []
        while declarator is not None and declarator.type in _WRAPPERS:
            marks += {"pointer_declarator": ["*"], "reference_declarator": ["&"], "array_declarator": ["[]"]}.get(
                declarator.type, []
            )
            declarator = inner_declarator(declarator)
        if declarator is None:
            return
        constant = bool({"const", "constexpr"} & set(words)) and "*" not in marks
        constant = constant and (scope.kind != "struct" or "static" in words)  # a constructor may set a member
        local = _own(scope, words)
        type = " ".join([*words, *marks])
        if declarator.type == "structured_binding_declarator":
            for each in declarator.named_children:
                scope.bind(Binding(self._spelled(each), "variable", "auto", each.start_byte, local=True))
            return
        if declarator.type == "function_declarator":
            name, given = (declarator.child_by_field_name(part) for part in ("declarator", "parameters"))
            inside = scope.kind not in ("file", "namespace", "struct")
            if name is not None and name.type == "identifier" and (inside or words[-1:] == ["dim3"]):
                text = self._spelled(given)[1:-1]  # `dim3 b(x, y)` declares no function, though it looks like it
                scope.bind(Binding(self._spelled(name), "variable", type, name.start_byte, constant, local, "(", text))
            return
        if declarator.type not in ("identifier", "field_identifier"):
            return
        style: Literal["=", "(", "{", ""] = ""
        text = self._spelled(value) if node.type != "for_range_loop" else ""
        if text:
            equals = "=" in self._text[declarator.end_byte : value.start_byte if value is not None else 0]
            style = "=" if equals else "(" if text[0] == "(" else "{"
            text = text if equals else text[1:-1]
        found = Binding(
            self._spelled(declarator), "variable", type, declarator.start_byte, constant, local, style, text
        )
        if value is not None and value.type == "lambda_expression":
            self._lambdas[value.start_byte] = found
        scope.bind(found)

    def _spelled(self, node: "Node | None") -> str:
        return one_line(self._text[node.start_byte : node.end_byte]) if node is not None else ""


def parameter_name(node: "Node") -> "Node | None":
    """Return the node of a parameter's name, also of a template's parameter; None where it has no name."""
    if "type_parameter" in node.type:
        return node.child_by_field_name("name") or (node.named_children[0] if node.named_children else None)
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator") or next(
            (child for child in declarator.named_children if child.type.endswith(("declarator", "identifier"))), None
        )
    return declarator


def parameter_type(text: str, node: "Node", name: "Node | None") -> str:
    """Return the declared type of a parameter, without its name and default."""
    default = node.child_by_field_name("default_value") or node.child_by_field_name("default_type")
    end = default.start_byte if default is not None else node.end_byte
    cut = (name.start_byte, name.end_byte) if name is not None else (end, end)
    kept = text[node.start_byte : cut[0]] + text[cut[1] : max(end, cut[1])]
    return one_line(kept.rstrip().removesuffix("=") if default is not None else kept)


def _as_function(holder: Binding, function: Scope) -> Binding:
    return Binding(holder.name, "function", "auto", holder.at, constant=True, function=function)


def _own(scope: Scope, words: list[str]) -> bool:
    """Return whether nothing outside this source can change such a variable."""
    if scope.kind in ("file", "namespace"):
        return "static" in words or any(one.kind == "namespace" and not one.name for one in scope.outwards)
    return scope.kind != "struct"
