"""Splits a source into its top-level declarations, with the namespaces around them, and finds a kernel's definition."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kpd.source.text import code
from kpd.source.tree import function_part, grammar, last_name, parsed

if TYPE_CHECKING:
    from kpd.source.tree import Node

_AROUND = ("namespace_definition", "linkage_specification", "declaration_list")
_CONDITIONS = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")


@dataclass(frozen=True, slots=True)
class Unit:
    """One declaration of a text.

    `scope` are the namespaces around it, an unnamed one is empty, and `extern` is a specification of a linkage; `kind`
    is the grammar's name for it, `name` the function that it defines, else empty. Its own text is from `start` to
    `end`, and `opens` is before a linkage that is named for it alone. `bare` is its text without comments and with
    single blanks. `returns_early`: its body has a return before other statements. `broken`: it could not be parsed.
    """

    scope: tuple[str, ...]
    kind: str
    name: str
    opens: int
    start: int
    end: int
    bare: str
    returns_early: bool = False
    broken: bool = False


def units(path: str, text: str, kernel: str) -> list[Unit]:
    """Return the declarations of a text in their order; an #if is one of them, unless the kernel is in it."""
    plain = code(path, text, literals=True)
    name = kernel.rpartition("::")[2]
    return list(_units(plain, parsed(grammar(path), plain), (), name, None))


def definitions(found: list[Unit], kernel: str) -> list[Unit]:
    """Return the definitions of a kernel: its name, within the namespaces that are named with it."""
    *spaces, name = kernel.split("::")
    return [
        unit
        for unit in found
        if unit.name == name and (not spaces or [one for one in unit.scope if one][-len(spaces) :] == spaces)
    ]


def _units(text: str, around: "Node", scope: tuple[str, ...], kernel: str, opens: int | None) -> Iterator[Unit]:
    for node in around.children:
        if node.type in _AROUND or (node.type in _CONDITIONS and _holds(text, node, kernel)):
            alone = node.type == "linkage_specification"
            yield from _units(text, node, (*scope, *_named(text, node)), kernel, node.start_byte if alone else None)
        elif node.is_named and node.type not in ("identifier", "namespace_identifier", "string_literal", "comment"):
            function = _function(node)
            yield Unit(
                scope, node.type, _name(text, function), node.start_byte if opens is None else opens, node.start_byte,
                node.end_byte,
                " ".join(text[node.start_byte : node.end_byte].split()), _returns_early(function), node.has_error,
            )  # fmt: skip


def _named(text: str, node: "Node") -> tuple[str, ...]:
    if node.type == "linkage_specification":
        return ("extern",)
    if node.type != "namespace_definition":
        return ()
    name = node.child_by_field_name("name")
    return tuple(text[name.start_byte : name.end_byte].split("::")) if name is not None else ("",)


def _function(node: "Node") -> "Node | None":
    """Return the definition of a function that a declaration is, also of a template; None where it is none."""
    if node.type == "template_declaration":
        return next((one for one in map(_function, node.children) if one is not None), None)
    return node if node.type == "function_definition" else None


def _name(text: str, function: "Node | None") -> str:
    head = function_part(function.child_by_field_name("declarator")) if function is not None else None
    name = last_name(head.child_by_field_name("declarator")) if head is not None else None
    return text[name.start_byte : name.end_byte] if name is not None else ""


def _holds(text: str, node: "Node", kernel: str) -> bool:
    return any(unit.name == kernel for unit in _units(text, node, (), kernel, None))


def _returns_early(function: "Node | None") -> bool:
    body = function.child_by_field_name("body") if function is not None else None
    statements = [one for one in body.named_children if one.type != "comment"] if body is not None else []
    return any(one.type == "return_statement" for one in statements[:-1])
