"""C++ and CUDA source as tokens that know where they stand. Comments are left out, a directive is one token."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

Kind = Literal["word", "number", "string", "mark", "directive"]

# What is not closed reaches to the end, so that no text takes more than one pass.
_TOKEN = re.compile(
    r"""
    (?P<blank>(?:\s|\\\r?\n)+ | //(?:\\\r?\n|[^\n])* | /\*(?s:.*?)(?:\*/|\Z))
  | (?P<string>(?:u8|[uUL])?R"(?P<fence>[^()\s\\]{0,16})\((?s:.*?)(?:\)(?P=fence)"|\Z)
      | (?:u8|[uUL])?"(?:[^"\\\n]|\\(?s:.))*"
      | (?:u8|[uUL])?'(?:[^'\\\n]|\\(?s:.))*')
  | (?P<word>[A-Za-z_$][\w$]*)
  | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<mark>->|::|\+\+|--|&&|\|\||\.\.\.|[-+*/%&|^=!<>]=|\#\#|(?s:.))        # angle brackets one by one
    """,
    re.VERBOSE,
)
_DIRECTIVE = re.compile(
    r"""\#(?: \\\r?\n | /\*(?s:.*?)(?:\*/|\Z) | "(?:[^"\\\n]|\\.)*" | //(?:\\\r?\n|[^\n])* | [^\n] )*""", re.VERBOSE
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ENDS_TEMPLATE = frozenset((";", "{", "}", ")", "]", "&&", "||", "?"))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of `file`, from the offset `start` on; `line` counts from 1.

    What a macro stands for keeps the offsets of its definition, and has the line of its use. `branch` is the number of
    the conditional part that it stands in, where a build decides whether it is there; 0 outside of all.
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
    """The tokens of `text` from `start` on, which stands on `line`."""
    found: list[Token] = []
    fresh = True  # nothing but blanks since the line began
    while start < len(text):
        directive = _DIRECTIVE.match(text, start) if directives and fresh else None
        match = directive or _TOKEN.match(text, start)
        assert match is not None  # any character is at least a mark
        if directive:
            found.append(Token("directive", match[0].rstrip("\r"), start, line, file))
        elif match.lastgroup in ("blank", None):
            fresh = fresh or "\n" in match[0]
        else:
            kind = "string" if match["string"] is not None else cast(Kind, match.lastgroup)
            found.append(Token(kind, match[0], start, line, file))
            fresh = False
        line += match[0].count("\n")
        start = match.end()
    return found


def together(tokens: Sequence[Token], at: int, text: str) -> bool:
    """Whether the tokens from `at` on spell `text` (marks of one character), with nothing between them."""
    part = tokens[at : at + len(text)]
    return "".join(token.text for token in part) == text and all(
        one.end == two.start and one.file == two.file for one, two in pairwise(part)
    )


def closing(tokens: Sequence[Token], at: int) -> int:
    """The index of what closes the bracket at `at`; the number of tokens when nothing does."""
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


def template_end(tokens: Sequence[Token], at: int) -> int | None:
    """The index after the `>` that closes the template arguments that begin at `at`, if they look like ones."""
    depth, index = 0, at
    while index < len(tokens):
        text = tokens[index].text
        if tokens[index].kind == "mark":
            if text in ("(", "["):
                index = closing(tokens, index)
            elif text in _ENDS_TEMPLATE:
                return None
            elif text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return index + 1
        index += 1
    return None


def template_start(tokens: Sequence[Token], at: int) -> int | None:
    """The index of the `<` that the `>` at `at` closes, looking backwards."""
    depth, inside = 0, 0
    for index in range(at, -1, -1):
        text = tokens[index].text
        if tokens[index].kind != "mark":
            continue
        if text in (")", "]", "}"):
            inside += 1
        elif text in ("(", "[", "{"):
            inside -= 1
            if inside < 0:
                return None
        elif inside:
            continue
        elif text == ";":
            return None
        elif text == ">":
            depth += 1
        elif text == "<":
            depth -= 1
            if depth == 0:
                return index
    return None


def split(tokens: Sequence[Token], mark: str = ",") -> list[list[Token]]:
    """The parts between commas, none of them within brackets or template arguments. No tokens, no parts."""
    parts: list[list[Token]] = [[]]
    index = 0
    while index < len(tokens):
        token, stop = tokens[index], index + 1
        if token.kind == "mark" and token.text in _CLOSING:
            stop = min(closing(tokens, index) + 1, len(tokens))
        elif token.text == "<" and index and tokens[index - 1].kind == "word":
            stop = template_end(tokens, index) or stop
        elif token.kind == "mark" and token.text == mark:
            parts.append([])
            index += 1
            continue
        parts[-1] += tokens[index:stop]
        index = stop
    return parts if tokens else []


def spelled(tokens: Sequence[Token]) -> str:
    """The tokens as people would write them on one line."""
    out = ""
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        if before is not None and _apart(before, token):
            out += " "
        out += token.text
    return out


def _apart(before: Token, token: Token) -> bool:
    if before.file == token.file and before.end <= token.start:
        return before.end < token.start
    return before.kind in ("word", "number") and token.kind in ("word", "number")
