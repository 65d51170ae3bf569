"""Parses text with tree-sitter, even if it does not compile: what cannot be parsed is a node ERROR.

A node's offsets count characters of the parsed text.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node as Node, Parser  # the others take Node from here

Grammar = Literal["c", "cpp", "cuda", "python"]
_GRAMMARS: dict[str, Grammar] = {
    "c": "c", "cl": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hip": "cuda", "py": "python",
}  # fmt: skip
# Attributes that the grammars do not know; nothing that kpd asks depends on them.
_ATTRIBUTE = re.compile(
    r"\b(?:__align__|__cluster_dims__|__maxnreg__|__block_size__|__declspec)\s*\((?:[^()]|\([^()]*\))*\)"
)


def grammar(path: str) -> Grammar:
    """Return the grammar for a file. CUDA's also reads headers: it has all of C++, and nearly all of C."""
    return _GRAMMARS.get(path.rpartition(".")[2], "cuda")


def parsed(grammar: Grammar, text: str) -> "Node":
    """Parse a text and return the root of its tree. Comments must be blank already, except in Python."""
    known = _ATTRIBUTE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text) if grammar != "python" else text
    plain = "".join(char if char in _PLAIN else "_" if char.isalnum() else "\x01" for char in known)
    return _parser(grammar).parse(plain.encode("ascii")).root_node


def walk(node: "Node", into: "Callable[[Node], bool]" = lambda node: True) -> "Iterator[Node]":
    """Yield the node and all nodes below it, in the order of the text; nothing below nodes that `into` refuses."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        if into(here):
            waiting += reversed(here.children)


def line(node: "Node") -> int:
    """Return the line, from 1, in which a node begins."""
    return node.start_point.row + 1


def function_part(declarator: "Node | None") -> "Node | None":
    """Return the function part of a declarator, inside stars and references; None where it declares no function."""
    while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
        declarator = inner_declarator(declarator)
    return declarator if declarator is not None and declarator.type == "function_declarator" else None


def inner_declarator(declarator: "Node") -> "Node | None":
    """Return the declarator inside a star, a reference or brackets; the grammar names it only in some of them."""
    named = declarator.named_children
    return declarator.child_by_field_name("declarator") or (named[-1] if named else None)


def last_name(node: "Node | None") -> "Node | None":
    """Return the last part of a qualified name, without template arguments."""
    while node is not None and node.type in ("qualified_identifier", "template_function"):
        node = node.child_by_field_name("name")
    return node


_PLAIN = frozenset(chr(code) for code in (*range(32, 127), 9, 10, 12, 13))


@cache
def _parser(grammar: Grammar) -> "Parser":
    from tree_sitter import Language, Parser  # takes 10 ms, which most verbs need not pay

    return Parser(Language(import_module(f"tree_sitter_{grammar}").language()))
