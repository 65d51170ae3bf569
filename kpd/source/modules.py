"""Finds what a task's other files import from an editable Python module, and what a candidate no longer offers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kpd.source.tree import line, parsed, walk

if TYPE_CHECKING:
    from kpd.source.tree import Node

Texts = Mapping[str, str]
_FUNCTION, _CLASS = "function_definition", "class_definition"
_TARGETS = {
    "assignment": "left", "augmented_assignment": "left", "for_statement": "left", "for_in_clause": "left",
    "named_expression": "name", "as_pattern": "alias", "type_alias_statement": "left",
}  # fmt: skip
"""The field of a statement that holds the names it binds."""
_WORDS = ("string", "concatenated_string", "ellipsis", "integer", "float", "true", "false", "none")


@dataclass(frozen=True, slots=True)
class _Module:
    text: str
    root: "Node"

    def of(self, node: "Node | None") -> str:
        return self.text[node.start_byte : node.end_byte] if node is not None else ""

    def name(self, node: "Node") -> str:
        return self.of(node.child_by_field_name("name"))

    def functions(self) -> "Iterator[tuple[str, Node]]":
        return ((self.name(node), node) for node in walk(self.root) if node.type == _FUNCTION)


@dataclass(slots=True)
class _Arguments:
    """The parameters of a function, each a name and whether it has a default.

    `rest` is the name after `*`, `more` the name after `**`; both are empty without one.
    """

    positional: list[tuple[str, bool]] = field(default_factory=list)
    keywords: list[tuple[str, bool]] = field(default_factory=list)
    rest: str = ""
    more: str = ""


def broken(incumbent: Texts, candidate: Texts, protected: Texts) -> Iterator[str]:
    """Yield a sentence for each import of a protected file that the candidate breaks."""
    for path, text in incumbent.items():
        before, after = _read(path, text), _read(path, candidate.get(path, ""))
        if before is None or after is None:
            continue
        was, now = _bound(before), _bound(after)
        for name, where in _taken(path, protected):
            if name not in was:
                continue
            if name not in now:
                yield f"{path} no longer defines `{name}`, which {where} imports"
            elif was[name].type == now[name].type == _FUNCTION:
                old, new = _arguments(before, was[name]), _arguments(after, now[name])
                if not _takes_the_same(old, new):
                    yield (
                        f"{path}:{line(now[name])}: the signature is `{_head(name, new)}`, but {where} needs "
                        f"`{_head(name, old)}`"
                    )


def emptied(incumbent: Texts, candidate: Texts) -> Iterator[str]:
    """Yield a sentence for each function whose body was not empty and now is."""
    for path, text in candidate.items():
        before, after = _read(path, incumbent.get(path, "")), _read(path, text)
        if before is None or after is None:
            continue
        full = {name for name, each in before.functions() if not _empty(before, each)}
        still = {name for name, each in after.functions() if not _empty(after, each)}
        for name, each in after.functions():
            if name in full - still and _empty(after, each):
                yield f"{path}:{line(each)}: the body of `{name}` is empty"


def _read(path: str, text: str) -> _Module | None:
    if not path.endswith(".py"):
        return None
    root = parsed("python", text)
    return None if root.has_error else _Module(text, root)


def _taken(path: str, protected: Texts) -> Iterator[tuple[str, str]]:
    """Yield each name that a protected file imports from the module `path`, and that file."""
    module = PurePosixPath(path).with_suffix("")
    names = {".".join(module.parts[at:]) for at in range(len(module.parts))}
    for where, text in protected.items():
        read = _read(where, text)
        if read is None:
            continue
        nodes = list(walk(read.root))
        imported = [pair for node in nodes if node.type == "import_statement" for pair in _imported(read, node)]
        aliases = {alias for name, alias in imported if name in names}
        for node in nodes:
            if node.type == "import_from_statement":
                if read.of(node.child_by_field_name("module_name")).lstrip(".") in names:
                    yield from ((name, where) for name, _ in _imported(read, node))
            elif node.type == "attribute":
                of = node.child_by_field_name("object")
                if of is not None and (read.of(of) in aliases or _imports(read, of) in names):
                    yield read.of(node.child_by_field_name("attribute")), where


def _imported(read: _Module, statement: "Node") -> Iterator[tuple[str, str]]:
    """Yield each imported name, and the name that it has from then on."""
    for each in statement.children_by_field_name("name"):
        aliased = each.type == "aliased_import"
        yield (read.name(each), read.of(each.child_by_field_name("alias"))) if aliased else (read.of(each),) * 2


def _imports(read: _Module, node: "Node") -> str | None:
    """Return the module that `import_module("…")` names; None for any other call."""
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or given is None or not given.named_children:
        return None
    called = read.of(function).rpartition(".")[2]
    return read.of(given.named_children[0]).strip("\"'") if called == "import_module" else None


def _bound(read: _Module) -> dict[str, "Node"]:
    """Return the names that an import of the module defines, as far as can be seen, each with its last binding."""
    found: dict[str, Node] = {}
    for node in walk(read.root, lambda node: node.type not in (_FUNCTION, _CLASS)):
        if node.type in (_FUNCTION, _CLASS):
            found[read.name(node)] = node
        elif node.type in ("import_statement", "import_from_statement"):
            found |= {alias.partition(".")[0]: node for _, alias in _imported(read, node)}
        elif node.type in _TARGETS:
            for target in node.children_by_field_name(_TARGETS[node.type]):
                for each in walk(target, lambda each: each.type not in ("attribute", "subscript")):
                    if each.type == "identifier":
                        found[read.of(each)] = each
    return found


def _arguments(read: _Module, function: "Node") -> _Arguments:
    found = _Arguments()
    given = function.child_by_field_name("parameters")
    after_star = False
    for each in given.named_children if given is not None else ():
        star = each.named_children[0] if each.type == "typed_parameter" else each
        if star.type in ("list_splat_pattern", "keyword_separator"):
            after_star, found.rest = True, read.of(star).lstrip("*")
        elif star.type == "dictionary_splat_pattern":
            found.more = read.of(star).lstrip("*")
        elif each.type.endswith("parameter") or each.type == "identifier":
            name = read.name(each) or read.of(star)
            (found.keywords if after_star else found.positional).append((name, "default" in each.type))
    return found


def _takes_the_same(old: _Arguments, new: _Arguments) -> bool:
    """Return whether every call that fits `old` fits `new`, too: further parameters need a default."""
    for at, (name, optional) in enumerate(old.positional):
        if at >= len(new.positional):
            return bool(new.rest and new.more)
        if new.positional[at][0] != name or (optional and not new.positional[at][1]):
            return False
    known = {name for name, _ in old.keywords}
    if not new.more and not known <= {name for name, _ in new.keywords}:
        return False
    needed = {name for name, optional in new.keywords if not optional}
    return all(optional for _, optional in new.positional[len(old.positional) :]) and needed <= known


def _head(name: str, given: _Arguments) -> str:
    """Format a signature by its names alone: annotations and defaults of a candidate can be anything."""
    words = [f"{each}=…" if optional else each for each, optional in given.positional]
    words += [f"*{given.rest}"] if given.rest else []
    words += [f"{each}=…" for each, _ in given.keywords]
    words += [f"**{given.more}"] if given.more else []
    return f"{name}({', '.join(words)})"


def _empty(read: _Module, function: "Node") -> bool:
    """Return whether the body is empty: only literals, `pass`, `...`, or a NotImplementedError."""
    body = function.child_by_field_name("body")
    nodes = body.named_children if body is not None else []
    for node in nodes:
        words = node.type == "expression_statement" and all(each.type in _WORDS for each in node.named_children)
        missing = node.type == "raise_statement" and any(read.of(each) == "NotImplementedError" for each in walk(node))
        if not (words or missing or node.type in ("pass_statement", "comment")):
            return False
    return bool(nodes)
