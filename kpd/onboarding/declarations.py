"""Statements that declare variables or name types."""

from collections.abc import Sequence
from typing import Literal

from kpd.onboarding.heads import BUILT_IN, SPECIFIERS, TAKES_ARGUMENT
from kpd.onboarding.scopes import Binding, Scope
from kpd.onboarding.tokens import Token, closing, spelled, split, template_end


def declare(scope: Scope, tokens: Sequence[Token], start: int, end: int) -> None:
    """Bind the variables, or the type, that the statement declares, if it is a declaration."""
    statement = tokens[start:end]
    while len(statement) > 2 and (label := _label(statement)):
        start, statement = start + label, statement[label:]
    if not statement or statement[0].kind != "word" or statement[0].text in ("return", "goto", "delete", "throw"):
        return
    if statement[0].text in ("using", "typedef"):
        _alias(scope, statement, start)
        return
    at = 0
    if statement[0].text == "template":
        at = template_end(statement, 1) or len(statement)
    words: list[str] = []
    first = at
    named = False
    while at < len(statement):
        token = statement[at]
        if token.kind == "word" and token.text in TAKES_ARGUMENT and at + 1 < len(statement):
            named = named or token.text == "decltype"
            at = closing(statement, at + 1) + 1
        elif token.kind == "word" and (token.text in SPECIFIERS or token.text in BUILT_IN):
            named = named or token.text in BUILT_IN
            words.append(token.text)
            at += 1
        elif token.kind == "word" and not named:
            named = True
            words.append(token.text)
            at = _qualified(statement, at)
        elif token.text in ("*", "&", "&&") and named:
            words.append(token.text)
            at += 1
        else:
            break
    if named and at < len(statement) and statement[at].text == "[":
        _parts(scope, statement[at : closing(statement, at)], start + at)
        return
    if not named or at >= len(statement) or statement[at].kind != "word":
        return
    constant = bool({"const", "constexpr"} & set(words)) and "*" not in words
    constant = constant and (scope.kind != "struct" or "static" in words)  # a constructor may set a member
    _declarators(scope, tokens, start + at, end, spelled(statement[first:at]), constant, _own(scope, words))


def _label(statement: Sequence[Token]) -> int:
    """How many tokens a label or an attribute takes that a statement begins with."""
    if statement[0].text == "[" and statement[1].text == "[":
        return closing(statement, 0) + 1
    return 2 if statement[0].kind == "word" and statement[1].text == ":" else 0


def _parts(scope: Scope, tokens: Sequence[Token], start: int) -> None:
    """The names in `auto [a, b] = …`, whose values are not followed."""
    for index, token in enumerate(tokens):
        if token.kind == "word":
            scope.bind(Binding(token.text, "variable", "auto", start + index, token.place, local=True))


def _own(scope: Scope, words: Sequence[str]) -> bool:
    """Whether nothing outside this source can change such a variable."""
    if scope.kind in ("file", "namespace"):
        return "static" in words or any(one.kind == "namespace" and not one.name for one in scope.outwards)
    return scope.kind != "struct"


def _qualified(tokens: Sequence[Token], at: int) -> int:
    """The index after a name with its namespaces and template arguments."""
    at += 1
    while at < len(tokens):
        if tokens[at].text == "<" and (end := template_end(tokens, at)) is not None:
            at = end
        elif tokens[at].text == "::" and at + 1 < len(tokens) and tokens[at + 1].kind == "word":
            at += 2
        else:
            break
    return at


def _declarators(
    scope: Scope, tokens: Sequence[Token], at: int, end: int, type: str, constant: bool, local: bool
) -> None:
    for part in split(tokens[at:end]):
        start = at
        at += len(part) + 1
        while part and part[0].text in ("*", "&", "const"):
            part, start = part[1:], start + 1
        if not part or part[0].kind != "word":
            return
        name, rest = part[0], part[1:]
        opening = rest[0].text if rest else ""
        bound = Binding(name.text, "variable", type, start, name.place, constant, local)
        if opening == "[":
            scope.bind(_as(bound, type + " []", "", ()))
        elif opening == "=":
            scope.bind(_as(bound, type, "=", tuple(rest[1:])))
        elif opening in ("(", "{") and closing(rest, 0) == len(rest) - 1:
            if opening == "(" and scope.kind in ("file", "namespace", "struct") and type.split()[-1:] != ["dim3"]:
                return  # a function's declaration
            scope.bind(_as(bound, type, "(" if opening == "(" else "{", tuple(rest[1:-1])))
        elif not rest or opening == ":":  # of a loop over a range
            scope.bind(bound)


def _as(binding: Binding, type: str, style: Literal["=", "(", "{", ""], value: tuple[Token, ...]) -> Binding:
    return Binding(
        binding.name, binding.kind, type, binding.at, binding.place, binding.constant, binding.local, style, value
    )


def _alias(scope: Scope, statement: Sequence[Token], start: int) -> None:
    if statement[0].text == "using" and len(statement) > 2 and statement[2].text == "=":
        name, value = 1, tuple(statement[3:])
    elif statement[0].text == "typedef" and statement[-1].kind == "word":
        name, value = len(statement) - 1, tuple(statement[1:-1])
    else:
        return
    token = statement[name]
    scope.bind(Binding(token.text, "type", "", start + name, token.place, True, value=value))
