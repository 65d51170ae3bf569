"""Whether two heads of C functions are of the same type: what they return and take, whatever the names."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kpd.agents.source.functions import Function

_TOKEN = re.compile(r"\w+|::|\.\.\.|[^\s\w]")
_NO_TYPE = {
    "static", "inline", "extern", "constexpr", "consteval", "friend", "virtual", "explicit", "register", "volatile",
    "restrict", "noexcept", "typename", "struct", "class", "enum", "union", "template", "alignas",
}  # fmt: skip
_SIZES = {"short", "long", "signed", "unsigned"}
_NUMBERS = {*_SIZES, "void", "bool", "char", "int", "float", "double", "auto"}
_OPEN, _CLOSE = "(<[{", ")>]}"
_GLOBAL = "__global__"


class Type(NamedTuple):
    """A function's type, in a form in which equal ones are equal. `template` has only what every call must give."""

    returns: str
    parameters: tuple[str, ...]
    template: tuple[str, ...]


def type_of(function: Function) -> Type:
    """Names, defaults, `restrict`, attributes and macros in capitals make no difference; `__global__` does."""
    words = [word for word in _tokens(_without_groups(function.before)) if not _is_macro(word)]
    returns = _type([*words, "_"])
    if _GLOBAL in function.before:
        returns = f"{_GLOBAL} {returns}"
    parameters = tuple(_type(_tokens(given)) for given in split(function.parameters))
    if parameters == ("void",):
        parameters = ()
    return Type(returns, parameters, tuple(template_parameters(function)))


def template_parameters(function: Function) -> Iterator[str]:
    """Those without a default, by their kinds: `int`, `typename`."""
    for given in split(function.template or ""):
        kind, default, _ = given.partition("=")
        if not default:
            words = ["typename" if word == "class" else word for word in _TOKEN.findall(kind)]
            named = len(words) > 1 and words[-1].isidentifier() and words[-1] not in _NUMBERS
            yield " ".join(words[:-1] if named else words)


def split(text: str) -> list[str]:
    """What the commas part that stand in no parentheses or brackets."""
    found, depth, begun = [], 0, 0
    for step in re.finditer(r"->|[(<\[{)>\]},]", text):
        if step[0] in _OPEN:
            depth += 1
        elif step[0] in _CLOSE:
            depth -= 1
        elif step[0] == "," and depth <= 0:
            found.append(text[begun : step.start()])
            begun = step.end()
    found.append(text[begun:])
    return found if text.strip() else []


def _tokens(text: str) -> list[str]:
    words = [word for word in _TOKEN.findall(text) if word not in _NO_TYPE]
    return [word for word in words if not word.startswith("__") or word.startswith("__nv")]


def _is_macro(word: str) -> bool:
    return len(word) > 2 and word.isupper()


def _without_groups(text: str) -> str:
    """Without the parentheses of attributes and the like, which do not nest deeper than this."""
    for _ in range(4):
        text = re.sub(r"(?:\b\w+\s*)?\([^()]*\)", " ", text)
    return text


def _type(words: list[str]) -> str:
    """A parameter's type: a name, at the end or before brackets, is left out."""
    given = list(_before_default(words))
    if "(" in given:  # a function's address: its own name stands after the star
        return " ".join(
            word for at, word in enumerate(given) if not (at and given[at - 1] == "*" and word.isidentifier())
        )
    if "[" in given[1:] and "<" not in given:
        at = given.index("[", 1)
        inner = given[at:][given[at:].index("]") + 1 :] if "]" in given[at:] else []
        given = [*_nameless(given[:at]), "*", *inner]
        return " ".join(_based(given))
    return " ".join(_based(_nameless(given)))


def _before_default(words: list[str]) -> Iterator[str]:
    depth = 0
    for word in words:
        if word == "=" and depth == 0:
            return
        depth += (word in _OPEN) - (word in _CLOSE)
        yield word


def _nameless(words: list[str]) -> list[str]:
    """Without the name, and without the const that is only the parameter's own."""
    pointer = max((at for at, word in enumerate(words) if word in "*&" and _depth(words[:at]) == 0), default=-1)
    if pointer >= 0:
        return [*words[: pointer + 1], *(word for word in words[pointer + 1 :] if not word.isidentifier())]
    plain = [word for word in words if word != "const"]
    named = len(plain) > 1 and plain[-1].isidentifier() and plain[-1] not in _NUMBERS and plain[-2] != "::"
    return plain[:-1] if named else plain


def _depth(words: list[str]) -> int:
    return words.count("<") - words.count(">")


def _based(words: list[str]) -> list[str]:
    """With the words before the first star in one order: `unsigned long int const` is `const unsigned long`."""
    at = next((at for at, word in enumerate(words) if word in "*&" and _depth(words[:at]) == 0), len(words))
    base, rest = words[:at], words[at:]
    if not all(word.isidentifier() for word in base):
        return words
    if _SIZES & set(base):
        base = [word for word in base if word not in ("int", "signed")]
    return [*sorted(base, key=lambda word: (word != "const", word)), *rest] or ["int"]
