"""An expression's worth, from its tokens: C's operators, casts, and whatever a `Names` knows of names and calls."""

from collections.abc import Sequence
from typing import Protocol

from kpd.onboarding import values
from kpd.onboarding.tokens import Token, closing, spelled, split, template_end
from kpd.onboarding.values import BINARY, Array, Dim3, Record, Unknown, Value

_CASTS = ("static_cast", "reinterpret_cast", "const_cast")


class Names(Protocol):
    """What an expression's names mean where it stands. All of it raises Unknown."""

    def word(self, path: Sequence[str]) -> Value:
        """The variable, constant or enumerator of this name, the last part of `path` being its own."""

    def field(self, path: Sequence[str]) -> Value:
        """What `a.b.c` or `a->b->c` is, when `a` itself is not known."""

    def call(self, path: Sequence[str], template: Sequence[Sequence[Token]], given: Sequence[Value]) -> Value:
        """What a call of this function returns."""


def evaluate(tokens: Sequence[Token], names: Names) -> Value:
    """Raises Unknown."""
    if not tokens:
        raise Unknown("nothing stands there")
    question = _find(tokens, 0, "?")
    if question is not None:
        return _chosen(tokens, question, names)
    parser = _Parser(tokens, names)
    found = parser.binary(0)
    if parser.at < len(tokens):
        raise Unknown(f"{spelled(tokens)} is not understood here")
    return found


def _chosen(tokens: Sequence[Token], question: int, names: Names) -> Value:
    colon = _find(tokens, question + 1, ":")
    if colon is None:
        raise Unknown(f"{spelled(tokens)} is not understood here")
    condition, yes, no = tokens[:question], tokens[question + 1 : colon], tokens[colon + 1 :]
    try:
        truth = values.numeric(evaluate(condition, names))
    except Unknown as err:
        one, other = evaluate(yes, names), evaluate(no, names)
        if one != other:
            raise Unknown(f"depends on a condition, {spelled(condition)}: {err}") from err
        return one
    return evaluate(yes if truth else no, names)


def _find(tokens: Sequence[Token], at: int, mark: str) -> int | None:
    """The `?` or `:` of this level, past the conditions within it."""
    within = 0
    while at < len(tokens):
        text = tokens[at].text if tokens[at].kind == "mark" else ""
        if text == mark and within == 0:
            return at
        within += (text == "?") - (text == ":")
        at = closing(tokens, at) + 1 if text in ("(", "[", "{") else at + 1
    return None


class _Parser:
    def __init__(self, tokens: Sequence[Token], names: Names) -> None:
        self._tokens = tokens
        self._names = names
        self.at = 0

    def binary(self, least: int) -> Value:
        left = self._unary()
        while (operator := self._operator()) and BINARY[operator][0] > least:
            self.at += 2 if operator in ("<<", ">>") else 1
            left = values.combine(operator, left, self.binary(BINARY[operator][0]))
        return left

    def _operator(self) -> str:
        if self.at >= len(self._tokens):
            return ""
        here = self._tokens[self.at]
        after = self._tokens[self.at + 1] if self.at + 1 < len(self._tokens) else None
        if here.kind != "mark":
            return ""
        if here.text in ("<", ">") and after is not None and after.text == here.text and here.end == after.start:
            return here.text * 2
        return here.text if here.text in BINARY else ""

    def _unary(self) -> Value:
        token = self._next()
        if token.kind == "number":
            return values.number(token.text)
        if token.text in ("-", "+", "!", "~"):
            value = values.numeric(self._unary())
            if token.text == "-":
                return -value
            return value if token.text == "+" else int(not value) if token.text == "!" else ~values.integer(value)
        if token.text == "(":
            return self._parenthesis()
        if token.text == "{":
            raise Unknown("a value in braces is not understood here")
        if token.kind == "word":
            return self._postfix(self._word(token))
        raise Unknown(f"{token.text} is not understood here")

    def _parenthesis(self) -> Value:
        start = self.at
        end = closing(self._tokens, start - 1)
        inside = self._tokens[start:end]
        if end >= len(self._tokens) or not inside:
            raise Unknown(f"{spelled(self._tokens)} is not understood here")
        self.at = end + 1
        if all(token.text in values.TYPES or token.text in ("const", "std", "::") for token in inside):
            return values.converted(spelled(inside), self._unary())
        return self._postfix(([], evaluate(inside, self._names)))

    def _word(self, token: Token) -> tuple[list[str], Value | Unknown]:
        path = [token.text]
        if token.text in ("true", "false"):
            return path, int(token.text == "true")
        if token.text == "sizeof":
            return path, self._size()
        if token.text in _CASTS:
            return path, self._cast()
        if token.text in values.TYPES:
            words = [token.text]
            while self._text() in values.TYPES:
                words.append(self._next().text)
            return path, self._converted(" ".join(words))
        while self._text() == "::":
            self.at += 1
            path.append(self._next().text)
        template: list[list[Token]] = []
        if self._text() == "<":
            end = template_end(self._tokens, self.at)
            if end is not None and end < len(self._tokens) and self._tokens[end].text in ("(", "{", "::"):
                template = split(self._tokens[self.at + 1 : end - 1])
                self.at = end
                if self._text() == "::":
                    raise Unknown(f"{spelled(self._tokens)} depends on a template")
        if self._text() in ("(", "{"):
            if self._text() == "{" and path[-1] != "dim3":
                raise Unknown(f"{path[-1]} in braces is not understood here")
            return path, self._names.call(path, template, self._arguments())
        try:
            return path, self._names.word(path)
        except Unknown as err:
            return path, err

    def _arguments(self) -> list[Value]:
        end = closing(self._tokens, self.at)
        given = split(self._tokens[self.at + 1 : end])
        self.at = end + 1
        return [evaluate(part, self._names) for part in given]

    def _converted(self, type: str) -> Value:
        if self._text() not in ("(", "{"):
            raise Unknown(f"{type} is not understood here")
        given = self._arguments()
        if len(given) != 1:
            raise Unknown(f"{type} of more than one value")
        return values.converted(type, given[0])

    def _cast(self) -> Value:
        end = template_end(self._tokens, self.at) if self._text() == "<" else None
        if end is None:
            raise Unknown("a cast is not understood here")
        type = spelled(self._tokens[self.at + 1 : end - 1])
        self.at = end
        if values.kind_of(type) not in (*values.SIZES, "dim3"):
            raise Unknown(f"what a cast to {type} makes is not known here")
        return self._converted(type)

    def _size(self) -> int:
        end = closing(self._tokens, self.at) if self._text() == "(" else len(self._tokens)
        inside = self._tokens[self.at + 1 : end]
        self.at = end + 1
        kind = values.kind_of(spelled(inside))
        if kind not in values.SIZES:
            raise Unknown(f"the size of {spelled(inside)} is not known here")
        return values.SIZES[kind]

    def _postfix(self, found: tuple[list[str], Value | Unknown]) -> Value:
        path, value = found
        while self._text() in (".", "->", "[", "++", "--"):
            mark = self._next().text
            if mark in ("++", "--"):
                raise Unknown("a value that changes while it is read")
            if mark == "[":
                end = closing(self._tokens, self.at - 1)
                index = values.integer(evaluate(self._tokens[self.at : end], self._names))
                self.at = end + 1
                value = _element(value, index, path)
                continue
            name = self._next().text
            path = [*path, name]
            if self._text() == "(":
                raise Unknown(f"{'.'.join(path)}() is not known here")
            value = self._member(value, name, path)
        if isinstance(value, Unknown):
            raise value
        return value

    def _member(self, value: Value | Unknown, name: str, path: list[str]) -> Value | Unknown:
        if isinstance(value, Dim3) and name in value._fields:
            return int(getattr(value, name))
        if isinstance(value, Record) and name in value.fields:
            return value.fields[name]
        try:
            return self._names.field(path)
        except Unknown as err:
            return err

    def _next(self) -> Token:
        if self.at >= len(self._tokens):
            raise Unknown(f"{spelled(self._tokens)} is not complete")
        self.at += 1
        return self._tokens[self.at - 1]

    def _text(self) -> str:
        token = self._tokens[self.at] if self.at < len(self._tokens) else None
        return "" if token is None or token.kind == "string" else token.text


def _element(value: Value | Unknown, index: int, path: Sequence[str]) -> Value | Unknown:
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Array) and 0 <= index < len(value.items):
        return value.items[index]
    return Unknown(f"{'.'.join(path)} has no element {index} that is known here")
