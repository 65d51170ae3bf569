"""Splits C into tokens with positions. Comments are dropped; a directive is one token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from kpd.source.text import LEXEMES

Kind = Literal["word", "number", "string", "mark", "directive"]
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of `file`, from the offset `start` on; `line` counts from 1.

    A token from a macro keeps its offset in the macro's definition, and has the line of the macro's use. `branch` is
    the number of the conditional part around it, where only a build decides whether that is there; 0 outside all.
    """

    kind: Kind
    text: str
    start: int
    line: int
    file: str = ""
    branch: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file else f"line {self.line}"


def tokenize(text: str, file: str = "", start: int = 0, line: int = 1, directives: bool = True) -> list[Token]:
    """Split `text` from the offset `start` on, which is on `line`, into tokens."""
    found: list[Token] = []
    fresh = True  # only blanks since the line began
    matches = LEXEMES.finditer(text, start)
    for match in matches:
        kind, begun, now = match.lastgroup, match.start(), line
        line += match[0].count("\n")
        if kind == "end":
            fresh = True
        elif directives and fresh and match[0] == "#":
            end = match.end()
            for rest in matches:
                line += rest[0].count("\n")
                if rest.lastgroup == "end":
                    break
                end = rest.end()
            found.append(Token("directive", text[begun:end], begun, now, file))
        elif kind not in ("blank", "comment"):
            found.append(Token(cast(Kind, kind), match[0], begun, now, file))
            fresh = False
    return found


def closing(tokens: Sequence[Token], at: int) -> int:
    """Return the index of the token that closes the bracket at `at`; the number of tokens when none does."""
    waiting: list[str] = []
    for index in range(at, len(tokens)):
        text = tokens[index].text
        if tokens[index].kind != "mark":
            continue
        if text in _CLOSING:
            waiting.append(_CLOSING[text])
        elif text in (")", "]", "}"):
            if not waiting or waiting.pop() != text:
                return len(tokens)
            if not waiting:
                return index
    return len(tokens)


def split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at commas outside brackets, as macros do. Without tokens there are no parts."""
    parts: list[list[Token]] = [[]]
    index = 0
    while index < len(tokens):
        token, stop = tokens[index], index + 1
        if token.kind == "mark" and token.text in _CLOSING:
            stop = min(closing(tokens, index) + 1, len(tokens))
        elif token.kind == "mark" and token.text == ",":
            parts.append([])
            index += 1
            continue
        parts[-1] += tokens[index:stop]
        index = stop
    return parts if tokens else []


def spelled(tokens: Sequence[Token]) -> str:
    """Format the tokens as text on one line."""
    return laid_out(tokens, " ")[0]


def laid_out(tokens: Sequence[Token], newline: str = "\n") -> tuple[str, list[int]]:
    """Format the tokens as text, with line breaks between tokens of different lines, and return each token's offset."""
    out, starts, at = [], [], 0
    before: Token | None = None
    for token in tokens:
        gap = ""
        if before is not None:
            apart = newline if token.line != before.line else " "
            gap = apart if _apart(before, token) else ""
        out += [gap, token.text]
        starts.append(at + len(gap))
        at += len(gap) + len(token.text)
        before = token
    return "".join(out), starts


def _apart(before: Token, token: Token) -> bool:
    if before.file == token.file and before.end <= token.start:
        return before.end < token.start
    return before.kind in ("word", "number") and token.kind in ("word", "number")
