"""Holds a source for analysis: its text after macros, its tree and scopes, and what a name means at a place."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kpd.source.macros import Include, Preprocessed, read
from kpd.source.scan import scan
from kpd.source.scopes import Binding, Scope
from kpd.source.tokens import Token, laid_out
from kpd.source.tree import parsed, walk

if TYPE_CHECKING:
    from kpd.source.tree import Node

_NOWHERE = Token("mark", "", 0, 1)


@dataclass(slots=True)
class Source:
    """A source that was read. All offsets are in its `text` after macros; `starts` has each token's.

    `words` maps each name to its nodes; `errors` are the nodes that cannot be parsed. `seen` are the names in a
    namespace: those of all its parts, and of unnamed namespaces in it.
    """

    read: Preprocessed
    text: str
    starts: list[int]
    top: Scope
    nodes: "list[Node]"
    words: "dict[str, list[Node]]" = field(default_factory=dict)
    errors: "list[Node]" = field(default_factory=list)
    owners: dict[int, Scope] = field(default_factory=dict)
    seen: dict[Scope, dict[str, list[Binding]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, text: str, file: str = "", include: Include | None = None, before: tuple[str, str] | None = None
    ) -> "Source":
        """Read a source as `macros.read` does, and parse it. Raises UnreadableDirective."""
        found = read(text, file, include, before)
        laid, starts = laid_out(found.tokens)
        root = parsed("cuda", laid)
        source = cls(found, laid, starts, scan(laid, root), list(walk(root)))
        for node in source.nodes:
            if node.type.endswith("identifier") and not node.child_count:
                source.words.setdefault(laid[node.start_byte : node.end_byte], []).append(node)
            elif node.type == "ERROR" and not _only_calls(node):
                source.errors.append(node)
        for scope in source.top.everything():
            source.owners |= {binding.at: scope for group in scope.bindings.values() for binding in group}
        source._join()
        return source

    def _join(self) -> None:
        parts: dict[tuple[str, ...], dict[str, list[Binding]]] = {}
        for scope in self.top.everything():
            if scope.kind in ("file", "namespace"):
                path = tuple(name for name in (*scope.path, scope.name) if name)
                seen = self.seen[scope] = parts.setdefault(path, {})
                for name, group in scope.bindings.items():
                    seen.setdefault(name, []).extend(group)

    def token(self, at: int) -> Token:
        """Return the token at an offset; it knows its file and line."""
        index = bisect_right(self.starts, at) - 1
        return self.read.tokens[index] if index >= 0 else _NOWHERE

    def place(self, at: int) -> str:
        return self.token(at).place

    def spelled(self, node: "Node | None") -> str:
        """Return the node's text on one line; empty for None."""
        return " ".join(self.text[node.start_byte : node.end_byte].split()) if node is not None else ""

    def scope(self, at: int) -> Scope:
        """Return the innermost scope around an offset."""
        scope = self.top
        while True:
            index = bisect_right(scope.inner, at, key=lambda one: one.start)
            if not index or at >= scope.inner[index - 1].end:
                return scope
            scope = scope.inner[index - 1]

    def find(self, name: str, at: int) -> list[Binding]:
        """Return what `name` can mean at an offset: the bindings of the innermost scope that has any before it."""
        for scope in self.scope(at).outwards:
            reach = len(self.text) + 1 if scope.kind in ("struct", "enum") else at
            seen = self.seen.get(scope, scope.bindings)
            if found := [binding for binding in seen.get(name, ()) if binding.at < reach]:
                return found
        return []

    def functions(self, name: str, at: int) -> list[Scope]:
        """Return the functions of this name that are defined in this source and can be called at an offset."""
        return [binding.function for binding in self.find(name, at) if binding.function is not None]

    def qualified(self, path: Sequence[str]) -> list[Binding]:
        """Return the bindings of a name in the namespaces or structs of its path."""
        wanted = [part for part in path[:-1] if part not in ("", "std")]
        found: list[Binding] = []
        for scope in self.top.everything():
            around = [*scope.path, *([scope.name] if scope.name else [])]
            if (
                scope.kind in ("namespace", "struct", "enum")
                and "::".join(around).split("::")[-len(wanted) :] == wanted
            ):
                found += [binding for binding in scope.bindings.get(path[-1], ()) if binding not in found]
        return found

    def certain(self, at: int, here: int) -> bool:
        """Return whether the code at `at` is in every build that has the code at `here`."""
        return self.read.certain(self.token(at).branch, self.token(here).branch)


def _only_calls(node: "Node") -> bool:
    """Return whether only a semicolon is missing there, as after a macro that contains one."""
    return all(child.type in ("call_expression", "identifier") for child in node.children)
