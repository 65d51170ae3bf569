"""Tokens read as nested scopes, statement by statement. What is not understood is passed over."""

from collections.abc import Sequence

from kpd.onboarding.declarations import declare
from kpd.onboarding.heads import function_name, parameters, template_parameters, type_name, without_template
from kpd.onboarding.scopes import Binding, Scope, ScopeKind
from kpd.onboarding.tokens import Token, closing, split

_TRAILING = frozenset(("const", "noexcept", "override", "final", "mutable", "constexpr"))
_CONDITIONAL = frozenset(("if", "while", "switch", "else", "do", "try", "catch"))


def scan(tokens: Sequence[Token]) -> Scope:
    """The file's scope. It never fails."""
    scanner = _Scanner(tokens)
    scanner.body(scanner.top, 0)
    scanner.top.end = len(tokens)
    return scanner.top


class _Scanner:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self.top = Scope("file", "", None, 0)

    def body(self, scope: Scope, at: int) -> int:
        """Read statements up to the `}` that ends the scope; returns the index after it."""
        while at < len(self._tokens):
            if self._text(at) == "}":
                break
            at = self._statement(scope, at)
        scope.end = at
        return at + 1

    def _statement(self, scope: Scope, at: int) -> int:
        text = self._text(at)
        if text == ";":
            return at + 1
        if text == "{" and scope.kind not in ("file", "namespace", "struct"):
            return self._open("block", scope, at)
        if scope.kind not in ("file", "namespace", "struct"):
            if text == "for":
                return self._loop(scope, at)
            if text in _CONDITIONAL:
                return self._condition(scope, at)
            if text in ("case", "default", "public", "private", "protected"):
                while at < len(self._tokens) and self._text(at) not in (":", ";", "}"):
                    at += 1
                return at + 1 if self._text(at) != "}" else at
        elif text in ("public", "private", "protected") and self._text(at + 1) == ":":
            return at + 2
        return self._declaration(scope, at)

    def _loop(self, scope: Scope, at: int) -> int:
        loop = Scope("condition", "for", scope, at)
        scope.inner.append(loop)
        start = at + 1
        if self._text(start) != "(":
            return start
        end = closing(self._tokens, start)
        first = split(self._tokens[start + 1 : end], ";")
        if first:
            declare(loop, self._tokens, start + 1, start + 1 + len(first[0]))
        at = self._statement(loop, end + 1) if end + 1 < len(self._tokens) else end + 1
        loop.end = at
        return at

    def _condition(self, scope: Scope, at: int) -> int:
        inner = Scope("condition", self._text(at), scope, at)
        scope.inner.append(inner)
        at += 1
        if self._text(at) == "constexpr":
            at += 1
        if self._text(at) == "(":
            end = closing(self._tokens, at)
            first = split(self._tokens[at + 1 : end], ";")
            if first and any(token.text == "=" for token in first[0]):
                declare(inner, self._tokens, at + 1, at + 1 + len(first[0]))
            at = end + 1
        at = self._statement(inner, at) if at < len(self._tokens) and self._text(at) != "}" else at
        inner.end = at
        return at

    def _declaration(self, scope: Scope, start: int) -> int:
        """A statement or definition of any other kind, from its first token on; what it defines is bound."""
        at = start
        while at < len(self._tokens):
            text = self._text(at)
            if text == ";":
                declare(scope, self._tokens, start, at)
                return at + 1
            if text == "}":
                return at
            if text in ("(", "["):
                at = self._brackets(scope, at)
            elif text == "{":
                opened = self._brace(scope, start, at)
                if opened is not None:
                    return opened
                at = closing(self._tokens, at) + 1
            else:
                at += 1
        return at

    def _brackets(self, scope: Scope, at: int) -> int:
        """Past brackets, in which there may be functions without a name."""
        end = closing(self._tokens, at)
        index = at + 1
        while index < end:
            if self._text(index) == "{" and self._is_lambda(index):
                index = self._lambda(scope, index)
            else:
                index += 1
        return end + 1

    def _brace(self, scope: Scope, start: int, at: int) -> int | None:
        """The index after what the `{` at `at` opens, or None for one that is part of an expression."""
        head = self._tokens[start:at]
        words = [token.text for token in without_template(head)]
        if self._is_lambda(at):
            after = self._lambda(scope, at)
            return self._after_lambda(scope, start, after)
        if "namespace" in words or (words[:1] == ["extern"] and len(words) == 2):
            names = [token.text for token in head if token.kind == "word" and token.text not in ("inline", "namespace")]
            return self._namespace(scope, names if "namespace" in words else [], at)
        if "enum" in words:
            return self._enum(scope, head, at)
        function = function_name(head)
        if function is not None and scope.kind in ("file", "namespace", "struct"):
            return self._function(scope, start, function, at)
        if {"struct", "class", "union"} & set(words) and "=" not in words:
            name = next((token.text for token in type_name(head)), "")
            scope.bind(Binding(name, "type", words[0], start, self._tokens[start].place))
            return self._open("struct", scope, at, name, tuple(head))
        return None

    def _after_lambda(self, scope: Scope, start: int, at: int) -> int:
        """On to the end of the statement that a function without a name is part of."""
        while at < len(self._tokens) and self._text(at) not in (";", "}"):
            at = self._brackets(scope, at) if self._text(at) in ("(", "[", "{") else at + 1
        declare(scope, self._tokens, start, at)
        inner = scope.inner[-1]
        name = inner.start - 1
        while name > start and self._text(name) != "=":
            name -= 1
        if inner.kind == "lambda" and name > start and self._tokens[name - 1].kind == "word":
            token = self._tokens[name - 1]
            scope.bindings.pop(token.text, None)
            scope.bind(Binding(token.text, "function", "auto", name - 1, token.place, constant=True, function=inner))
        return at + 1 if self._text(at) == ";" else at

    def _is_lambda(self, at: int) -> bool:
        index = at - 1
        while index >= 0 and (self._text(index) in _TRAILING):
            index -= 1
        arrow = next((back for back in range(index, max(index - 8, 0), -1) if self._text(back) == "->"), None)
        if arrow is not None and all(t.kind == "word" or t.text == "::" for t in self._tokens[arrow + 1 : index + 1]):
            index = arrow - 1
        if self._text(index) == ")":
            index = self._opening(index) - 1
        if self._text(index) != "]":
            return False
        before = self._tokens[self._opening(index) - 1] if self._opening(index) > 0 else None
        return before is None or (before.kind == "mark" and before.text not in (")", "]")) or before.text == "return"

    def _opening(self, at: int) -> int:
        depth = 0
        for index in range(at, -1, -1):
            depth += (self._text(index) in (")", "]", "}")) - (self._text(index) in ("(", "[", "{"))
            if depth == 0:
                return index
        return 0

    def _lambda(self, scope: Scope, at: int) -> int:
        head = at - 1
        while head > 0 and self._text(head) not in (")", "]"):
            head -= 1
        inner = Scope("lambda", "", scope, at)
        scope.inner.append(inner)
        captures = head
        if self._text(head) == ")":
            captures = self._opening(head) - 1
            parameters(inner, self._tokens, captures + 1, head)
        self._captures(inner, self._opening(captures), captures)
        return self.body(inner, at + 1)

    def _captures(self, inner: Scope, opening: int, end: int) -> None:
        """The names that a function without a name gives to what it keeps, as in `[size = 2 * n]`."""
        at = opening + 1
        for part in split(self._tokens[opening + 1 : end]):
            if len(part) > 2 and part[1].text == "=":
                inner.bind(
                    Binding(part[0].text, "variable", "auto", at, part[0].place, True, True, "=", tuple(part[2:]))
                )
            at += len(part) + 1

    def _namespace(self, scope: Scope, names: list[str], at: int) -> int:
        inner = Scope("namespace", "::".join(names), scope, at)
        scope.inner.append(inner)
        return self.body(inner, at + 1)

    def _open(self, kind: ScopeKind, scope: Scope, at: int, name: str = "", head: tuple[Token, ...] = ()) -> int:
        inner = Scope(kind, name, scope, at, head=head)
        scope.inner.append(inner)
        return self.body(inner, at + 1)

    def _enum(self, scope: Scope, head: Sequence[Token], at: int) -> int:
        end = closing(self._tokens, at)
        name = next((token.text for token in type_name(head)), "")
        inner = Scope("enum", name, scope, at, end)
        scope.inner.append(inner)
        scoped = any(token.text in ("class", "struct") for token in head)
        before: tuple[Token, ...] = ()
        index = at + 1
        for part in split(self._tokens[at + 1 : end]):
            if part:
                value = tuple(part[2:]) if len(part) > 1 and part[1].text == "=" else ()
                found = Binding(
                    part[0].text, "enumerator", name, index, part[0].place, constant=True, style="=",
                    value=value or before,
                )  # fmt: skip
                inner.bind(found)
                if not scoped:
                    scope.bind(found)
                before = (*part[:1], *_PLUS_ONE)
            index += len(part) + 1
        return end + 1

    def _function(self, scope: Scope, start: int, name: int, at: int) -> int:
        head = tuple(self._tokens[start:at])
        inner = Scope("function", head[name].text, scope, at, head=head)
        scope.inner.append(inner)
        scope.bind(Binding(inner.name, "function", "", start + name, head[name].place, constant=True, function=inner))
        opening = start + name + 1
        parameters(inner, self._tokens, opening, closing(self._tokens, opening))
        template_parameters(inner, self._tokens, start)
        return self.body(inner, at + 1)

    def _text(self, at: int) -> str:
        token = self._tokens[at] if 0 <= at < len(self._tokens) else None
        return "" if token is None or token.kind == "string" else token.text


_PLUS_ONE = (Token("mark", "+", 0, 0), Token("number", "1", 0, 0))
