"""What stands before a body: the name of a type or function in it, and its parameters."""

from collections.abc import Iterator, Sequence

from kpd.onboarding.scopes import Binding, Scope
from kpd.onboarding.tokens import Token, closing, spelled, split, template_end

SPECIFIERS = frozenset((
    "static", "const", "constexpr", "inline", "extern", "volatile", "thread_local", "register", "mutable", "constinit",
    "consteval", "virtual", "explicit", "friend", "typename", "struct", "class", "enum", "union", "__device__",
    "__host__", "__constant__", "__shared__", "__managed__", "__global__", "__forceinline__", "__noinline__",
    "__inline__", "__restrict__", "__restrict", "restrict",
))  # fmt: skip
BUILT_IN = frozenset(("void", "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "auto"))
TAKES_ARGUMENT = frozenset((
    "__launch_bounds__", "__attribute__", "__declspec", "alignas", "__align__", "__cluster_dims__",
    "__maxnreg__", "__block_size__", "decltype", "noexcept",
))  # fmt: skip


def without_template(head: Sequence[Token]) -> list[Token]:
    """The head of a declaration without `template <…>` and what stands in brackets."""
    out: list[Token] = []
    index = 0
    while index < len(head):
        text = head[index].text
        if text == "template" and index + 1 < len(head) and head[index + 1].text == "<":
            index = template_end(head, index + 1) or len(head)
        elif text in ("(", "[") and head[index].kind == "mark":
            index = closing(head, index) + 1
        else:
            out.append(head[index])
            index += 1
    return out


def type_name(head: Sequence[Token]) -> Iterator[Token]:
    """The name that a struct, class, union or enum is given."""
    passed = False
    for token in without_template(head):
        if token.text in (":", "="):
            return
        if token.text in ("struct", "class", "union", "enum"):
            passed = True
        elif passed and token.kind == "word" and token.text not in TAKES_ARGUMENT and token.text != "final":
            yield token
            return


def function_name(head: Sequence[Token]) -> int | None:
    """The index of the name of the function whose body follows `head`."""
    index, found = 0, None
    while index < len(head):
        text = head[index].text
        if text == "template" and index + 1 < len(head) and head[index + 1].text == "<":
            index = template_end(head, index + 1) or len(head)
        elif text in TAKES_ARGUMENT and index + 1 < len(head) and head[index + 1].text == "(":
            index = closing(head, index + 1) + 1
        elif text == "=" and found is None and head[index].kind == "mark":
            return None
        elif text in ("(", "[") and head[index].kind == "mark":
            if text == "(" and found is None and index and head[index - 1].kind == "word":
                found = index - 1
            index = closing(head, index) + 1
        else:
            index += 1
    return found


def parameters(scope: Scope, tokens: Sequence[Token], opening: int, end: int) -> None:
    at = opening + 1
    for part in split(tokens[opening + 1 : end]):
        kept = split(part, "=")[0] if part else []
        words = [index for index, token in enumerate(kept) if token.kind == "word" and token.text not in SPECIFIERS]
        if words and (len(kept) > 1 and not (len(words) == 1 and kept[words[0]].text in BUILT_IN)):
            name = words[-1]
            bracket = next((index for index, token in enumerate(kept) if token.text == "["), len(kept))
            name = max((index for index in words if index < bracket), default=name)
            kind = spelled(kept[:name]) + spelled(kept[name + 1 :])
            constant = "const" in kind.split() and "*" not in kind
            scope.bind(Binding(kept[name].text, "parameter", kind, at + name, kept[name].place, constant=constant))
        at += len(part) + 1


def template_parameters(scope: Scope, tokens: Sequence[Token], start: int) -> None:
    if tokens[start].text != "template" or tokens[start + 1].text != "<":
        return
    end = (template_end(tokens, start + 1) or start + 2) - 1
    at = start + 2
    for part in split(tokens[start + 2 : end]):
        name, _, default = _cut(part)
        if name and name[-1].kind == "word":
            kind = spelled(name[:-1])
            scope.bind(
                Binding(name[-1].text, "template", kind, at + len(name) - 1, name[-1].place, True, value=tuple(default))
            )
        at += len(part) + 1


def _cut(part: list[Token]) -> tuple[list[Token], bool, list[Token]]:
    for index, token in enumerate(part):
        if token.text == "=" and token.kind == "mark":
            return part[:index], True, part[index + 1 :]
    return part, False, []
