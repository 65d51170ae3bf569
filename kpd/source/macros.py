"""Expands directives and macros into the tokens that a compiler would see, as far as the source alone decides."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kpd.source.expressions import evaluate
from kpd.source.tokens import Token, closing, spelled, split, tokenize
from kpd.source.values import Unknown, Value, numeric

MOST_TOKENS = 200_000
DEEPEST = 40
REST = "__VA_ARGS__"
KNOWN = frozenset(("__CUDACC__", "__NVCC__", "__cplusplus"))
"""Macros that nvcc itself defines."""

Include = Callable[[str, str], tuple[str, str] | None]
"""Maps an included name and the file that includes it to (file, text), or None for a header outside the project."""


class UnreadableDirective(Exception):
    """A source that is too large, or nested too deeply, to be read."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro. `params` is None without parentheses. `why` says why it cannot be expanded; empty when it can."""

    name: str
    params: tuple[str, ...] | None
    body: tuple[Token, ...]
    place: str
    branch: int = 0
    why: str = ""


@dataclass(slots=True)
class Preprocessed:
    """The tokens after expansion; `macros` as defined at the end, `used` those that were expanded.

    `opaque` maps macros that were used and could not be expanded to the reason. `parents` maps each conditional part to
    the one around it.
    """

    tokens: list[Token] = field(default_factory=list)
    macros: dict[str, Macro] = field(default_factory=dict)
    used: dict[str, Macro] = field(default_factory=dict)
    opaque: dict[str, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)

    def certain(self, branch: int, within: int) -> bool:
        """Return whether the conditional part `branch` is there whenever the part `within` is."""
        while within and within != branch:
            within = self.parents[within]
        return branch == within


def read(
    text: str, file: str = "", include: Include | None = None, before: tuple[str, str] | None = None
) -> Preprocessed:
    """Read a file after the file `before` it, given as (name, text). Raises UnreadableDirective.

    Where only a build can decide a condition, every branch is read.
    """
    reader = _Reader(include or (lambda name, of: None))
    if before is not None:
        reader.file(before[1], before[0], 0)
    reader.file(text, file, 0)
    return reader.out


class _NoNames:
    """A lookup for directives, where only macros have a meaning: every other name is unknown."""

    def word(self, path: Sequence[str]) -> Value:
        raise Unknown(f"{path[-1]} is not a macro")

    field = word

    def call(self, path: Sequence[str], template: Sequence[str], given: Sequence[Value]) -> Value:
        raise Unknown(f"{path[-1]} is not a macro")


@dataclass(slots=True)
class _Branch:
    """One #if: whether it is read now, whether only a build decides that, and whether a branch was certainly taken."""

    reads: bool
    unsure: bool
    taken: bool
    number: int = 0


class _Reader:
    def __init__(self, include: Include) -> None:
        self.out = Preprocessed()
        self._include = include
        self._seen: set[str] = set()
        self._branches: list[_Branch] = []

    def file(self, text: str, file: str, depth: int) -> None:
        if depth > DEEPEST or file in self._seen:
            return
        self._seen.add(file)
        pending: list[Token] = []
        for token in tokenize(text, file):
            if token.kind != "directive":
                if self._reads:
                    pending.append(replace(token, branch=self._branch) if self._branch else token)
                continue
            self._flush(pending)
            pending = []
            self._directive(token, text, depth)
        self._flush(pending)

    @property
    def _reads(self) -> bool:
        return all(branch.reads for branch in self._branches)

    @property
    def _branch(self) -> int:
        """The innermost conditional part that only a build decides, 0 outside all of them."""
        return next((branch.number for branch in reversed(self._branches) if branch.unsure), 0)

    def _number(self, branch: _Branch) -> None:
        """Give the branch a number of its own, inside the parts around it."""
        branch.number, around = len(self.out.parents) + 1, self._branch
        self.out.parents[branch.number] = around

    def _flush(self, tokens: list[Token]) -> None:
        self.out.tokens += self._expand(tokens, frozenset(), 0)
        if len(self.out.tokens) > MOST_TOKENS:
            raise UnreadableDirective(f"more than {MOST_TOKENS} tokens after macros")

    def _directive(self, token: Token, text: str, depth: int) -> None:
        parts = tokenize(text[: token.end], token.file, token.start + 1, token.line, directives=False)
        if not parts:
            return
        word, rest = parts[0].text, parts[1:]
        if word in ("if", "ifdef", "ifndef"):
            branch = self._condition(word, rest) if self._reads else _Branch(False, False, True)
            self._number(branch)
            self._branches.append(branch)
        elif word in ("elif", "else") and self._branches:
            branch = self._branches.pop()
            self._number(branch)
            self._branches.append(branch)
            if branch.taken:
                branch.reads = False
            elif word == "else":
                branch.reads = True
            else:
                now = self._condition("if", rest)
                branch.reads, branch.taken = now.reads, now.taken
                branch.unsure = branch.unsure or now.unsure
        elif word == "endif" and self._branches:
            self._branches.pop()
        elif not self._reads or not rest:
            return
        elif word == "define":
            self._define(rest)
        elif word == "undef":
            self._undefine(rest[0])
        elif word == "include" and rest[0].kind == "string":
            found = self._include(rest[0].text[1:-1], token.file)
            if found is not None:
                self.file(found[1], found[0], depth + 1)

    def _condition(self, word: str, rest: Sequence[Token]) -> _Branch:
        text = "".join(token.text for token in rest)
        if word == "if" and (defined := re.fullmatch(r"(!?)defined\(?(\w+)\)?", text)):
            word, text = ("ifndef" if defined[1] else "ifdef"), defined[2]
        if word == "if":
            sure = self._worth(rest)
            return _Branch(True, True, False) if sure is None else _Branch(sure, False, sure)
        known = text in KNOWN or (text in self.out.macros and not self.out.macros[text].why)
        if known or word == "ifndef":  # an undefined name is rarely one that the build defines
            reads = known == (word == "ifdef")
            return _Branch(reads, False, reads)
        return _Branch(True, True, False)

    def _worth(self, condition: Sequence[Token]) -> bool | None:
        """Evaluate a condition of constants and known macros; None where only a build can decide it."""
        try:
            return bool(numeric(evaluate(spelled(self._expand(condition, frozenset(), 0)), _NoNames())))
        except (Unknown, RecursionError):
            return None

    def _define(self, rest: list[Token]) -> None:
        name, body, params = rest[0], rest[1:], None
        why = ""
        if body and body[0].text == "(" and body[0].start == name.end:
            end = closing(body, 0)
            params = tuple("".join(token.text for token in part) for part in split(body[1:end]))
            params = tuple(REST if param == "..." else param for param in params)
            body = body[end + 1 :]
            if any(not param.isidentifier() for param in params):
                why = f"{name.text} is a macro whose parameters are not understood here"
        if any(token.text in ("#", "##") for token in body):
            why = f"{name.text} is a macro that pastes its arguments"
        macro = Macro(name.text, params, tuple(body), name.place, self._branch, why)
        known = self.out.macros.get(name.text)
        if self._branch and known is not None and _words(known) != _words(macro):
            why = f"{name.text} is defined twice, at {known.place} and {macro.place}, and the build decides"
            macro = replace(macro, why=known.why or why)
        self.out.macros[name.text] = macro

    def _undefine(self, name: Token) -> None:
        known = self.out.macros.get(name.text)
        if known is None:
            return
        if self._branch:
            why = f"{name.text} is undefined at {name.place} in some builds"
            self.out.macros[name.text] = replace(known, why=why)
        else:
            del self.out.macros[name.text]

    def _expand(self, tokens: Sequence[Token], hidden: frozenset[str], depth: int) -> list[Token]:
        if depth > DEEPEST:
            raise UnreadableDirective("macros nested too deeply")
        out: list[Token] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            index += 1
            macro = self.out.macros.get(token.text) if token.kind == "word" else None
            if macro is None or token.text in hidden:
                out.append(token)
            elif macro.why or not self.out.certain(macro.branch, token.branch):
                why = macro.why or f"{macro.name} is defined in some builds only, at {macro.place}"
                self.out.opaque[token.text] = why
                out.append(token)
            elif macro.params is None:
                self.out.used[macro.name] = macro
                out += self._expand(_moved(macro.body, token), hidden | {token.text}, depth + 1)
            elif index < len(tokens) and tokens[index].text == "(" and (end := closing(tokens, index)) < len(tokens):
                given = _given(macro.params, split(tokens[index + 1 : end]))
                index = end + 1
                if len(given) != len(macro.params):
                    self.out.opaque[token.text] = f"{token.text} is a macro with {len(macro.params)} arguments"
                    out.append(token)
                    continue
                self.out.used[macro.name] = macro
                with_args = self._filled(macro, [self._expand(arg, hidden, depth + 1) for arg in given], token)
                out += self._expand(with_args, hidden | {token.text}, depth + 1)
            else:
                out.append(token)
            if len(out) > MOST_TOKENS:
                raise UnreadableDirective(f"more than {MOST_TOKENS} tokens after macros")
        return out

    def _filled(self, macro: Macro, given: list[list[Token]], at: Token) -> list[Token]:
        places = dict(zip(macro.params or (), given, strict=True))
        out: list[Token] = []
        for token in _moved(macro.body, at):
            out += places[token.text] if token.kind == "word" and token.text in places else [token]
            if len(out) > MOST_TOKENS:
                raise UnreadableDirective(f"more than {MOST_TOKENS} tokens after macros")
        return out


def _given(params: Sequence[str], given: list[list[Token]]) -> list[list[Token]]:
    """Join the arguments from `...` on into one, with their commas."""
    if not given and len(params) == 1:
        return [[]]
    if not params or params[-1] != REST or len(given) < len(params) - 1:
        return given
    rest: list[Token] = []
    for part in given[len(params) - 1 :]:
        rest += [replace(part[0], kind="mark", text=",")] * bool(rest) + part if part else part
    return [*given[: len(params) - 1], rest]


def _moved(body: Sequence[Token], to: Token) -> list[Token]:
    return [Token(token.kind, token.text, token.start, to.line, to.file, to.branch) for token in body]


def _words(macro: Macro) -> tuple[object, ...]:
    return (macro.params, tuple(token.text for token in macro.body))
