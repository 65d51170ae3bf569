"""Where a variable may get another value: assignments, references, addresses, calls that may do anything with it."""

from collections.abc import Callable

from kpd.onboarding.scopes import Binding, Scope
from kpd.onboarding.source import Source
from kpd.onboarding.tokens import template_start, together

ASSIGNS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"))
_BEFORE_ADDRESS = frozenset(("(", ",", "=", "return", "{", "&"))
# Functions, and words before a bracket, that leave a variable which they are given by its name as it is.
_HARMLESS = frozenset((
    "min", "max", "memcpy", "memset", "malloc", "exit", "ceil", "ceilf", "floor", "abs", "sizeof", "dim3", "printf",
    "fprintf", "assert", "if", "while", "for", "return", "switch", "static_cast", "int", "unsigned", "long", "float",
    "double", "size_t", "uint32_t", "int32_t", "uint64_t", "int64_t", "bool", "log2", "sqrt", "pow", "kpd_dim3",
))  # fmt: skip
_LOOPS = frozenset(("for", "while", "do"))
Change = tuple[int, str]
"""The index of the variable's name, and the field that is changed; "" for all of it."""


def changes(source: Source, binding: Binding, here: int, step: Callable[[], None]) -> list[Change]:
    """Every place from which the variable may come to `here` with another value than it had first.

    `step` is called for each place that is looked at.
    """
    owner = source.owners[binding.at]
    end = min(here, owner.end) if _passed_once(source, binding, owner, here) else owner.end
    found = []
    for at in source.words.get(binding.name, ()):
        if not binding.at < at < end:
            continue
        step()
        part = _change(source, at)
        if part is not None and binding in source.find(binding.name, at):
            found.append((at, part))
    return found


def _passed_once(source: Source, binding: Binding, owner: Scope, here: int) -> bool:
    """Whether what stands further down cannot have happened before: no loop, and no other call, comes back here."""
    if owner.kind in ("file", "namespace", "struct") or "static" in binding.type.split():
        return False
    for scope in source.scope(here).outwards:
        if scope is owner:
            return True
        if scope.kind == "lambda" or scope.name in _LOOPS:
            return False
    return False


def _change(source: Source, at: int) -> str | None:
    """The field that is changed where the variable's name stands, "" for all of it, None for no change."""
    text = source.text
    before = text(at - 1)
    if before in (".", "->", "::"):
        return None
    if before in ("++", "--") or _is_read_into(source, at):
        return ""
    bare = before == "(" and text(at + 1) == ")"
    if bare and (_assigned(source, at + 2) or (text(at - 2) == "&" and text(at - 3) in _BEFORE_ADDRESS)):
        return ""
    if before == "&" and text(at - 2) in _BEFORE_ADDRESS:
        return ""
    if before == "=" and text(at - 3) == "&":
        return ""  # a reference to it is made
    field = text(at + 1) in (".", "->")
    last = at + 2 if field else at
    given = before in ("(", ",") and text(last + 1) in (")", ",") and not _by_value(source, at)
    if given or _assigned(source, last + 1):
        return text(at + 2) if field else ""
    return None


def _assigned(source: Source, at: int) -> bool:
    """Whether an assignment's mark stands there; of `<<=` and `>>=` the last mark is a token of its own."""
    mark = source.text(at)
    return mark in ASSIGNS or (mark in ("<", ">") and source.text(at + 1) == f"{mark}=")


def _is_read_into(source: Source, at: int) -> bool:
    """Whether the variable takes what comes out of a stream."""
    if not together(source.tokens, at - 2, ">>") or source.text(at + 1) not in (";", ">"):
        return False
    start = at
    while start > 0 and source.text(start - 1) not in (";", "{", "}"):
        start -= 1
    return not any(token.text in ("=", "return", "(", "[") for token in source.tokens[start:at])


def _by_value(source: Source, at: int) -> bool:
    """Whether the call that the variable is an argument of cannot change it."""
    opening, place = _call(source, at)
    name = opening - 1
    while source.text(name) == "(":
        opening, name = name, name - 1
    if source.text(opening) != "(" or name < 0:
        return True
    if source.text(name) == ">":
        if source.text(name - 1) == ">" == source.text(name - 2):
            return True  # a launch copies its arguments
        name = (template_start(source.tokens, name) or 1) - 1
    word = source.text(name)
    if source.tokens[name].kind != "word" or word in _HARMLESS or word.startswith("cuda"):
        return True
    if source.tokens[name - 1].kind == "word" and source.text(name - 1) not in ("return", "else", "do"):
        return True  # a variable is declared, and begins as it
    found = [one.named("parameter") for one in source.functions(word, at)]
    return bool(found) and all(
        place < len(one) and ("&" not in one[place].type or one[place].constant) for one in found
    )


def _call(source: Source, at: int) -> tuple[int, int]:
    """The index of the bracket that opens the arguments around the token, and which of them it is."""
    opening, place, depth = at - 1, 0, 0
    while opening >= 0:
        text = source.text(opening)
        if text in (")", "]", "}"):
            depth += 1
        elif text in ("(", "[", "{", ";"):
            if depth == 0:
                break
            depth -= 1
        elif text == "," and depth == 0:
            place += 1
        opening -= 1
    return opening, place
