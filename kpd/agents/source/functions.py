"""The functions of a C, C++ or CUDA text: where each is, what it takes, whether it does anything.

Neither a parser nor a preprocessor: both sides of an #if are seen, and what cannot be made out is left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kpd.agents.source.text import blank, code, line_of

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:[^\n\\]|\\[\s\S])*+", re.MULTILINE)
_STEP = re.compile(r"[{};()]")
_NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\b([\w:\s]*)")
_CLASS = re.compile(r"\s*(?:typedef\s+)?(?:struct|class|union|enum)\b")
_WORD_BEFORE = re.compile(r"(operator\s*\(\s*\)|operator\s*[^\s\w(]{1,3}|~?[A-Za-z_]\w*)\s*$")
_INSTANCE = re.compile(r"(?:extern\s+)?template\b(?!\s*<)")
_INSTANCE_OF = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^;{}()]*>\s*)?$")
_SKIPPED = {
    "__attribute__", "__launch_bounds__", "__align__", "__declspec", "__maxnreg__", "__cluster_dims__", "alignas",
    "_Alignas", "alignof", "sizeof", "decltype", "noexcept", "asm", "__asm__", "requires", "explicit", "throw",
    "if", "for", "while", "switch", "catch", "return", "defined",
}  # fmt: skip
_MAY_FOLLOW = {"const", "volatile", "noexcept", "override", "final", "throw", "try", "requires", "asm", "mutable"}
_DOES_NOTHING = re.compile(r"(?:\s|;|\(void\)\s*\w+\s*;|return\s*;)*+")
LONGEST_HEAD = 4000
"""Characters from the end of what stands before a function to its body: what is longer is no function."""
LONGEST_NAME = 200
Open = tuple["_Block", "Open"] | None


@dataclass(slots=True)
class Function:
    """`scope` are the namespaces and classes around it; an unnamed one is an empty word.

    `template` are the parameters of its template, None without one; `before` is what stands before the name; `instance`
    is the whole of an explicit instantiation.
    """

    name: str
    scope: tuple[str, ...]
    line: int
    before: str
    parameters: str
    template: str | None = None
    instance: str = ""
    defined: bool = False
    member: bool = False
    empty: bool = False

    @property
    def static(self) -> bool:
        return re.search(r"\bstatic\b", self.before) is not None

    def __str__(self) -> str:
        return " ".join(f"{self.before} {self.name}({self.parameters})".split())


@dataclass(slots=True)
class _Block:
    """An open brace. `scope` is None where no function can begin in it."""

    scope: tuple[str, ...] | None
    member: bool
    parentheses: int
    begun: int
    function: Function | None = None


_OUTSIDE = _Block((), False, 0, 0)


def functions(path: str, text: str) -> list[Function]:
    """Those defined, declared and explicitly instantiated, in their order."""
    bare = code(path, text)
    flat = _DIRECTIVE.sub(lambda found: blank(found[0]), bare)
    found: list[Function] = []
    opened: Open = None
    saved: list[tuple[Open, int]] = []
    parentheses = head = 0
    for at, what in _steps(bare, flat):
        here = opened[0] if opened else _OUTSIDE
        match what:
            case "(":
                parentheses += 1
            case ")":
                parentheses = max(0, parentheses - 1)
            case ";" if here.scope is not None and not parentheses:
                found += _declared(flat, head, at, here)
                head = at + 1
            case "{":
                outside = here.scope is not None and not parentheses
                block = _begun(flat, head, at, here, parentheses) if outside else _Block(None, False, parentheses, at)
                if block.function:
                    found.append(block.function)
                opened, parentheses, head = (block, opened), 0, at + 1
            case "}" if opened is not None:
                if here.function:
                    here.function.empty = _DOES_NOTHING.fullmatch(flat, here.begun + 1, at) is not None
                opened, parentheses = opened[1], here.parentheses
                head = at + 1
            case "if" | "ifdef" | "ifndef":
                saved.append((opened, parentheses))
            case "else" | "elif" if saved:
                opened, parentheses = saved[-1]
            case "endif" if saved:
                saved.pop()
    return found


def _steps(bare: str, flat: str) -> Iterator[tuple[int, str]]:
    """Punctuation and directives with their places, in order."""
    at = 0
    for directive in _DIRECTIVE.finditer(bare):
        yield from ((step.start(), step[0]) for step in _STEP.finditer(flat, at, directive.start()))
        yield directive.start(), directive[1]
        at = directive.end()
    yield from ((step.start(), step[0]) for step in _STEP.finditer(flat, at))


def _begun(flat: str, start: int, at: int, here: _Block, parentheses: int) -> _Block:
    """The block whose brace is at `at`, after the words from `start` on."""
    assert here.scope is not None
    head = flat[start:at]
    if space := _NAMESPACE.fullmatch(head):
        names = tuple(name.strip() for name in space[1].split("::"))
        return _Block((*here.scope, *names), False, parentheses, at)
    if head.strip() == "extern":  # "C", which is blank here
        return _Block(here.scope, False, parentheses, at)
    function = _function(flat, start, at, here)
    if function is not None:
        function.defined = True
        return _Block(None, False, parentheses, at, function)
    _, rest = _template(head)
    if (opening := _CLASS.match(rest)) is not None and "=" not in rest:
        name = re.findall(r"\w+", rest[opening.end() :].partition(":")[0])
        return _Block((*here.scope, name[-1] if name else ""), True, parentheses, at)
    return _Block(None, False, parentheses, at)


def _declared(flat: str, start: int, at: int, here: _Block) -> Iterator[Function]:
    function = _function(flat, start, at, here)
    if function is not None and function.before.strip() and "typedef" not in function.before:
        yield function


def _function(flat: str, start: int, at: int, here: _Block) -> Function | None:
    """The function whose head this is: its name stands before the first parentheses that nothing but a body follows."""
    if here.scope is None or flat.find("(", start, at) < 0:
        return None
    whole = flat[start:at].lstrip()
    if len(whole) > LONGEST_HEAD:
        return None
    template, head = _template(whole)
    instance = _INSTANCE.match(head) is not None
    for opening, closing in _groups(head):
        name = (_INSTANCE_OF if instance else _WORD_BEFORE).search(head, max(0, opening - LONGEST_NAME), opening)
        if name is None or name[1] in _SKIPPED or not _ends_a_head(head[closing + 1 :]):
            continue
        before = head[: name.start(1)]
        if "=" in re.sub(r"\([^()]*\)", "", before):
            return None
        line = line_of(flat, at - len(head) + name.start(1))
        words = " ".join(head.split()) if instance else ""
        given = head[opening + 1 : closing]
        return Function(name[1], here.scope, line, before, given, template, instance=words, member=here.member)
    return None


def _ends_a_head(after: str) -> bool:
    """Whether this may stand between the parameters of a function and its body."""
    word = re.match(r"\s*(\w+|\S?)", after)
    first = word[1] if word else ""
    return first in ("", ":", "-", "&") or first in _MAY_FOLLOW or first.startswith("__")


def _groups(text: str) -> Iterator[tuple[int, int]]:
    """Outermost parentheses, from the first to the last."""
    depth = opening = 0
    for found in re.finditer(r"[()]", text):
        if found[0] == "(":
            opening = found.start() if depth == 0 else opening
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield opening, found.start()


def _template(head: str) -> tuple[str | None, str]:
    """The parameters of its template and what follows them."""
    begun = re.match(r"\s*template\s*<", head)
    if begun is None:
        return None, head
    depth = 1
    for found in re.finditer(r"[<>()]", head[begun.end() :]):
        depth += 1 if found[0] in "<(" else -1
        if depth == 0:
            end = begun.end() + found.start()
            return head[begun.end() : end], head[end + 1 :]
    return None, head
