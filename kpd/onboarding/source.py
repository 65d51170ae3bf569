"""A source as all that look into it see it: its tokens after macros, its scopes, and what a name means at a place."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from kpd.onboarding.macros import Include, Read, read
from kpd.onboarding.scan import scan
from kpd.onboarding.scopes import Binding, Scope
from kpd.onboarding.tokens import Token


@dataclass(slots=True)
class Source:
    """A source that was read: its tokens after macros, what they declare and in which scope, where each word stands.

    `seen` are the names in a namespace: of all its parts, and of namespaces without a name in them.
    """

    read: Read
    top: Scope
    words: dict[str, list[int]] = field(default_factory=dict)
    owners: dict[int, Scope] = field(default_factory=dict)
    seen: dict[Scope, dict[str, list[Binding]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, text: str, file: str = "", include: Include | None = None, before: tuple[str, str] | None = None
    ) -> "Source":
        """As `macros.read` reads it. Raises Unreadable."""
        found = read(text, file, include, before)
        source = cls(found, scan(found.tokens))
        for index, token in enumerate(found.tokens):
            if token.kind == "word":
                source.words.setdefault(token.text, []).append(index)
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

    @property
    def tokens(self) -> list[Token]:
        return self.read.tokens

    def scope(self, at: int) -> Scope:
        """The innermost scope around the token at `at`."""
        scope = self.top
        while True:
            place = bisect_right(scope.inner, at, key=lambda one: one.start)
            if not place or at >= scope.inner[place - 1].end:
                return scope
            scope = scope.inner[place - 1]

    def find(self, name: str, at: int) -> list[Binding]:
        """What `name` may mean there: the bindings of the innermost scope that has any before it."""
        for scope in self.scope(at).outwards:
            reach = len(self.tokens) if scope.kind in ("struct", "enum") else at
            seen = self.seen.get(scope, scope.bindings)
            if found := [binding for binding in seen.get(name, ()) if binding.at < reach]:
                return found
        return []

    def functions(self, name: str, at: int) -> list[Scope]:
        """The functions of this name that are defined here and can be called there."""
        return [binding.function for binding in self.find(name, at) if binding.function is not None]

    def qualified(self, path: Sequence[str]) -> list[Binding]:
        """The bindings of a name in the namespaces or structs that its path names."""
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
        """Whether the token at `at` is there in every build that has the one at `here`."""
        within = self.tokens[here].branch if here < len(self.tokens) else 0
        return self.read.certain(self.tokens[at].branch, within)

    def text(self, at: int) -> str:
        """The token's text; empty for a string, and outside of the source."""
        if not 0 <= at < len(self.tokens) or self.tokens[at].kind == "string":
            return ""
        return self.tokens[at].text
