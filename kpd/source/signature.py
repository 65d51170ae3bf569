"""Compares the types of two C functions: return type and parameters, independent of names."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kpd.source.tree import walk

if TYPE_CHECKING:
    from kpd.source.tree import Node

_TOKEN = re.compile(r"\w+|::|\.\.\.|[^\s\w]")
_NO_TYPE = {
    "static", "inline", "extern", "constexpr", "consteval", "friend", "virtual", "explicit", "register", "volatile",
    "restrict", "noexcept", "typename", "struct", "class", "enum", "union", "template", "alignas", "__restrict",
    "__inline", "__forceinline", "__volatile", "__extension__", "__kernel", "__global", "__local", "__private",
}  # fmt: skip
_SIZES = {"short", "long", "signed", "unsigned"}
_NO_DEFAULT = {
    "parameter_declaration": "", "type_parameter_declaration": "typename",
    "variadic_type_parameter_declaration": "typename...", "template_template_parameter_declaration": "template",
    "variadic_parameter_declaration": "",
}  # fmt: skip
_GLOBAL = "__global__"


class FunctionType(NamedTuple):
    """A function's type, normalised so that equal types compare equal. `template` omits parameters with a default."""

    returns: str
    parameters: tuple[str, ...]
    template: tuple[str, ...]


def type_of(text: str, before: str, parameters: "Node", template: "Node | None") -> FunctionType:
    """Build the type of a function; `before` is the text before its name.

    Names, defaults, `restrict`, attributes and macros in capitals make no difference; `__global__` does.
    """
    returns = " ".join(_based([word for word in _words(_without_groups(before)) if not _is_macro(word)]))
    taken = tuple(
        _parameter(text, each) if each.type != "..." else "..."
        for each in parameters.children
        if each.type.endswith("parameter_declaration") or each.type == "..."
    )
    return FunctionType(
        f"{_GLOBAL} {returns}" if _GLOBAL in before else returns,
        () if taken == ("void",) else taken,
        tuple(template_type(text, template)) if template is not None else (),
    )


def template_type(text: str, template: "Node") -> Iterator[str]:
    """Yield the kinds of a template's parameters that have no default: `int`, `typename`."""
    for each in template.named_children:
        if each.type in _NO_DEFAULT:
            yield _NO_DEFAULT[each.type] or _parameter(text, each)


def _parameter(text: str, node: "Node") -> str:
    """Return a parameter's type, without its name, its default, and a const of the parameter itself."""
    default = node.child_by_field_name("default_value")
    end = default.start_byte if default is not None else node.end_byte
    words = []
    for each in walk(node, lambda each: each.type != "attribute_specifier"):
        if not each.child_count and each.start_byte < end and not (each.type == "identifier" and _declares(each)):
            words += _words(text[each.start_byte : each.end_byte])
    words = words[:-1] if words[-1:] == ["="] else words
    if "(" in words:  # a function's address
        return " ".join(words)
    if "[" in words:
        words = [*words[: words.index("[")], "*", *words[_closing(words) + 1 :]]
    pointer = max((at for at, word in enumerate(words) if word in "*&" and _depth(words[:at]) == 0), default=-1)
    if pointer < 0:
        return " ".join(_based([word for word in words if word != "const"]))
    after = [word for word in words[pointer + 1 :] if not word.isidentifier()]
    return " ".join(_based([*words[: pointer + 1], *after]))


def _declares(node: "Node") -> bool:
    """Return whether the identifier is the name that a declaration introduces."""
    around = node.parent
    if around is None or around.child_by_field_name("size") == node:
        return False
    return around.type.endswith(("_declarator", "parameter_declaration"))


def _closing(words: list[str]) -> int:
    return words.index("]") if "]" in words else len(words) - 1


def _words(text: str) -> list[str]:
    words = [word for word in _TOKEN.findall(text) if word not in _NO_TYPE]
    return [word for word in words if not (word.startswith("__") and word.endswith("__"))]


def _is_macro(word: str) -> bool:
    return len(word) > 2 and word.isupper()


def _without_groups(text: str) -> str:
    """Remove attributes and the like, with parentheses up to four deep."""
    text = re.sub(r"\[\[[^\[\]]*\]\]", " ", text)
    for _ in range(4):
        text = re.sub(r"(?:\b\w+\s*)?\([^()]*\)", " ", text)
    return text


def _depth(words: list[str]) -> int:
    return words.count("<") - words.count(">")


def _based(words: list[str]) -> list[str]:
    """Sort the words before the first star, so that `unsigned long int const` becomes `const unsigned long`."""
    at = next((at for at, word in enumerate(words) if word in "*&" and _depth(words[:at]) == 0), len(words))
    base, rest = words[:at], words[at:]
    if not all(word.isidentifier() for word in base):
        return words
    if _SIZES & set(base):
        base = [word for word in base if word not in ("int", "signed")]
    return [*sorted(base, key=lambda word: (word != "const", word)), *rest] or ["int"]
