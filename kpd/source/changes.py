"""Finds where a variable may change its value: assignments, references, addresses, calls."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kpd.source.scopes import LOOPS, Binding, Scope
from kpd.source.source import Source
from kpd.source.tree import last_name

if TYPE_CHECKING:
    from kpd.source.tree import Node

    Change = tuple[Node, str]
    """The node of the variable's name, and the field that is changed there; "" for the whole variable."""

# Functions that do not change a variable that they get as an argument.
_HARMLESS = frozenset((
    "min", "max", "memcpy", "memset", "malloc", "exit", "ceil", "ceilf", "floor", "abs", "sizeof", "dim3", "printf",
    "fprintf", "assert", "static_cast", "int", "unsigned", "long", "float", "double", "size_t", "uint32_t", "int32_t",
    "uint64_t", "int64_t", "bool", "log2", "sqrt", "pow", "kpd_dim3",
))  # fmt: skip


def changes(source: Source, binding: Binding, here: int, step: Callable[[], None]) -> "list[Change]":
    """Find every place that may change the variable's value before control reaches the offset `here`.

    `step` is called for each place that is looked at, so that the caller can limit the work.
    """
    owner = source.owners[binding.at]
    end = min(here, owner.end) if _passed_once(source, binding, owner, here) else owner.end
    found = []
    for node in source.words.get(binding.name, ()):
        if not binding.at < node.start_byte < end:
            continue
        step()
        part = _change(source, node)
        if part is not None and binding in source.find(binding.name, node.start_byte):
            found.append((node, part))
    return found


def _passed_once(source: Source, binding: Binding, owner: Scope, here: int) -> bool:
    """Return whether code further down cannot run before `here`: no loop, and no second call of the function."""
    if owner.kind in ("file", "namespace", "struct") or "static" in binding.type.split():
        return False
    for scope in source.scope(here).outwards:
        if scope is owner:
            return owner.name not in LOOPS
        if scope.kind == "lambda" or scope.name in LOOPS:
            return False
    return False


def _change(source: Source, node: "Node") -> str | None:
    """Return the field that is changed where the variable's name stands, "" for all of it, None for no change."""
    around, part = node.parent, ""
    if node.type != "identifier" or around is None:
        return "" if around is not None and around.type == "ERROR" else None
    while around is not None and (around.type == "parenthesized_expression" or _part_of(node, around)):
        if around.type == "field_expression" and not part:
            part = source.spelled(around.child_by_field_name("field"))
        node, around = around, around.parent
    if around is None:
        return None
    match around.type:
        case "assignment_expression":
            return part if around.child_by_field_name("left") == node else None
        case "update_expression":
            return part
        case "pointer_expression":
            return part if source.spelled(around).startswith("&") else None
        case "init_declarator":
            return part if _is_reference(around) else None
        case "argument_list":
            return None if _by_value(source, node, around) else part
        case "binary_expression":
            return part if _is_read_into(source, node, around) else None
        case "ERROR" | "gnu_asm_output_operand":
            return part
    return None


def _part_of(node: "Node", around: "Node") -> bool:
    """Return whether `around` is a field or an element of `node`."""
    parts = ("field_expression", "subscript_expression")
    return around.type in parts and around.child_by_field_name("argument") == node


def _is_reference(declarator: "Node") -> bool:
    inner = declarator.child_by_field_name("declarator")
    return inner is not None and inner.type == "reference_declarator"


def _is_read_into(source: Source, node: "Node", around: "Node") -> bool:
    """Return whether a stream reads into the variable: `in >> a >> b;`."""
    if around.child_by_field_name("right") != node:
        return False
    top: Node | None = around
    while top is not None and top.type == "binary_expression":
        if source.spelled(top.child_by_field_name("operator")) != ">>":
            return False
        top = top.parent
    return top is not None and top.type in ("expression_statement", "condition_clause")


def _by_value(source: Source, node: "Node", given: "Node") -> bool:
    """Return whether a call cannot change this argument."""
    call = given.parent
    if call is None or call.type != "call_expression":
        return not (call is not None and _is_reference(call))
    if any(child.type == "kernel_call_syntax" for child in call.children):
        return True  # a launch copies its arguments
    function = last_name(call.child_by_field_name("function"))
    word = source.spelled(function)
    if function is None or word in _HARMLESS or word.startswith("cuda") or function.type == "primitive_type":
        return True
    place = given.named_children.index(node)
    found = [one.named("parameter") for one in source.functions(word, node.start_byte)]
    return bool(found) and all(
        place < len(one) and ("&" not in one[place].type or one[place].constant) for one in found
    )
