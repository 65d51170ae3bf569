"""Finds the functions of a C, C++ or CUDA text: position, parameters, and whether the body is empty.

No preprocessor runs: all branches of an #if are read, macros are not, and what cannot be parsed is left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kpd.source.signature import FunctionType, type_of
from kpd.source.text import blank, code
from kpd.source.tree import function_part, grammar, last_name, line, parsed, walk

if TYPE_CHECKING:
    from kpd.source.tree import Node


_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:[^\n\\]|\\[\s\S])*+", re.MULTILINE)
MOST = 16
"""The most readings of a text, and so the most branches of one #if that are read."""
MOST_CHARACTERS = 1 << 20
"""The most characters in all readings but the first, so that a reply with many branches takes bounded time."""


@dataclass(slots=True)
class _Branch:
    """One branch of the #if number `chain`; `unseen` while no reading has included it."""

    parent: int
    chain: int
    unseen: bool = True
    needed: bool = True
    taken: bool = False


def readings(text: str) -> Iterator[str]:
    """Yield up to MOST readings of the text, so that each branch of its #ifs is in one; offsets and lines stay."""
    directives = [(found.start(), found.end(), found[1]) for found in _DIRECTIVE.finditer(text)]
    branches, owners = _branches([word for _, _, word in directives])
    for _ in range(min(MOST, 1 + MOST_CHARACTERS // max(len(text), 1))):
        _choose(branches)
        out, at = [], 0
        for (start, end, _), owner in zip(directives, [0, *owners], strict=False):
            out += [text[at:start] if branches[owner].taken else blank(text[at:start]), blank(text[start:end])]
            at = end
        rest = text[at:]
        yield "".join([*out, rest if branches[owners[-1] if owners else 0].taken else blank(rest)])
        if not any(branch.unseen for branch in branches):
            return


def _branches(words: list[str]) -> tuple[list[_Branch], list[int]]:
    """Return all branches, each after the one around it, and the branch of the text after each directive."""
    branches = [_Branch(0, 0)]
    owners, open_ = [], [0]
    for word in words:
        if word in ("if", "ifdef", "ifndef"):
            branches.append(_Branch(open_[-1], len(branches)))
            open_.append(len(branches) - 1)
        elif word in ("elif", "else", "elifdef", "elifndef") and len(open_) > 1:
            before = branches[open_.pop()]
            branches.append(_Branch(before.parent, before.chain))
            open_.append(len(branches) - 1)
        elif word == "endif" and len(open_) > 1:
            open_.pop()
        owners.append(open_[-1])
    return branches, owners


def _choose(branches: list[_Branch]) -> None:
    """Choose a branch of each #if: the first one with something unread in it, else the first."""
    for branch in branches:
        branch.needed = branch.unseen
    for branch in reversed(branches[1:]):
        branches[branch.parent].needed |= branch.needed
    chosen: dict[int, _Branch] = {}
    for branch in branches:
        first = chosen.setdefault(branch.chain, branch)
        if branch.needed and not first.needed:
            chosen[branch.chain] = branch
    for branch in branches:
        branch.taken = chosen[branch.chain] is branch and (branch is branches[0] or branches[branch.parent].taken)
        branch.unseen = branch.unseen and not branch.taken


_DOES_NOTHING = re.compile(r"\{(?:\s|;|\(void\)\s*\w+\s*;|return\s*;)*+\}")
_MACRO = re.compile(
    r"^[ \t]*[A-Z][A-Z0-9_]{2,}[ \t]*\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)[ \t]*$", re.MULTILINE
)
"""A macro call alone on its line, without a semicolon."""
_CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
_HEADS = ("function_definition", "declaration", "field_declaration", "template_instantiation")
_AROUND = (
    "translation_unit", "ERROR", "declaration_list", "field_declaration_list", "linkage_specification",
    "friend_declaration",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Function:
    """A function. `scope` are the namespaces and classes around it; an unnamed one is an empty string.

    `template` are the parameters of its template, None without one; `before` is the text before the name; `instance` is
    the whole text of an explicit instantiation. Where the code around it is `broken`, its scope is not reliable; where
    its body never ends, its type is None.
    """

    name: str
    scope: tuple[str, ...]
    line: int
    before: str
    parameters: str
    type: FunctionType | None
    template: str | None = None
    instance: str = ""
    defined: bool = False
    member: bool = False
    empty: bool = False
    broken: bool = False

    @property
    def static(self) -> bool:
        return re.search(r"\bstatic\b", self.before) is not None

    def __str__(self) -> str:
        return " ".join(f"{self.before} {self.name}({self.parameters})".split())


@dataclass(frozen=True, slots=True)
class _Place:
    """The code around a node."""

    scope: tuple[str, ...] = ()
    member: bool = False
    broken: bool = False
    template: "Node | None" = None


@lru_cache(maxsize=32)
def functions(path: str, text: str) -> tuple[Function, ...]:
    """Find all functions that are defined, declared or explicitly instantiated, in the order of the text.

    The result is cached, because the gate asks several times for the same text.
    """
    found: dict[int, Function] = {}
    bare = _MACRO.sub(lambda alone: blank(alone[0]), code(path, text, literals=True))
    for reading in readings(bare):
        for start, each in _found(reading, parsed(grammar(path), reading)):
            if start not in found or (found[start].empty, found[start].broken) > (each.empty, each.broken):
                found[start] = each
    return tuple(found[start] for start in sorted(found))


def _found(text: str, root: "Node") -> "Iterator[tuple[int, Function]]":
    waiting = [(root, _Place())]
    while waiting:
        node, here = waiting.pop()
        inner = here
        if node.type in _HEADS or (node.type == "function_declarator" and here.broken):
            yield from _heads(text, node, here)
        match node.type:
            case "namespace_definition":
                inner = _Place((*here.scope, *_names(text, node)), broken=here.broken)
            case "class_specifier" | "struct_specifier" | "union_specifier":
                inner = _Place((*here.scope, *_names(text, node)), True, here.broken)
            case "template_declaration":
                inner = _Place(here.scope, here.member, here.broken, node.child_by_field_name("parameters"))
            case "ERROR":
                inner = _Place(here.scope, here.member, True)
            case "declaration" | "field_declaration" | "function_definition":
                kind = node.child_by_field_name("type")
                waiting += [(kind, here)] if kind is not None and kind.type in _CLASSES else []
                waiting += [(each, _Place(here.scope, here.member, True)) for each in _swallowed(node)]
                continue
            case kind if kind not in _AROUND:
                continue
        waiting += [(child, inner) for child in reversed(node.children)]


def _swallowed(node: "Node") -> "Iterator[Node]":
    """Yield functions that seem to be inside the body of another one, because that body never ends."""
    if node.type == "function_definition" and node.has_error:
        into = ("function_definition", *_CLASSES)
        found = walk(node, lambda each: each == node or each.type not in into)
        yield from (each for each in found if each.type == "function_definition" and each != node)


def _names(text: str, node: "Node") -> tuple[str, ...]:
    """Return the names of a namespace, or the name of a class; one empty name where there is none."""
    name = node.child_by_field_name("name")
    return tuple(part.strip() for part in _text(text, name).split("::")) if name is not None else ("",)


def _heads(text: str, node: "Node", here: _Place) -> "Iterator[tuple[int, Function]]":
    """Yield the functions of a definition or a declaration, or the one whose body never ends."""
    loose = node.type == "function_declarator"
    for declarator in [node] if loose else node.children_by_field_name("declarator"):
        head = function_part(declarator)
        if head is not None and (function := _read(text, node, head, here, loose)):
            yield function


def _read(text: str, node: "Node", head: "Node", here: _Place, loose: bool) -> "tuple[int, Function] | None":
    named, parameters = last_name(head.child_by_field_name("declarator")), head.child_by_field_name("parameters")
    if named is None or parameters is None or named.type == "parenthesized_declarator":
        return None
    before = text[node.start_byte : named.start_byte]
    defined = loose or node.type == "function_definition"
    if not defined and not before.strip():
        return None
    instance = node.type == "template_instantiation"
    body = node.child_by_field_name("body")
    template = here.template
    given = _text(text, parameters)[1:-1]
    return named.start_byte, Function(
        name=_text(text, named),
        scope=here.scope,
        line=line(named),
        before=before,
        parameters=given,
        type=None if loose else type_of(text, before, parameters, template),
        template=_text(text, template)[1:-1] if template is not None else None,
        instance=" ".join(_text(text, node).removesuffix(";").split()) if instance else "",
        defined=defined,
        member=here.member,
        empty=body is not None and _DOES_NOTHING.fullmatch(_text(text, body)) is not None,
        broken=here.broken,
    )


def _text(text: str, node: "Node") -> str:
    return text[node.start_byte : node.end_byte]
