"""Preprocessed C++ as tokens: enough to find CUDA's own syntax in it and to put the text back together unchanged."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

Kind = Literal["space", "marker", "string", "word", "number", "mark"]

_TOKEN = re.compile(
    r"""
    (?P<marker>(?m:^[ \t]*\#[^\n]*\n?))                                   # line markers and pragmas
  | (?P<space>\s+)
  | (?P<string>(?:u8|[uUL])?R"(?P<fence>[^()\s\\]{0,16})\((?s:.*?)\)(?P=fence)"
      | (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"
      | (?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
  | (?P<word>[A-Za-z_$][\w$]*)
  | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<mark>::|->|(?s:.))                                                # angle brackets one by one
    """,
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MARKER = re.compile(r'#\s*\d+\s+"(?P<file>(?:[^"\\]|\\.)*)"(?P<flags>(?:\s+\d)*)')


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. All tokens of a text, joined, are the text."""

    kind: Kind
    text: str

    @property
    def blank(self) -> bool:
        """Nothing that the parser sees."""
        return self.kind in ("space", "marker")


def tokenize(text: str) -> list[Token]:
    """The tokens of preprocessed source (no comments, no line continuations)."""
    return [Token(cast(Kind, match.lastgroup), match[0]) for match in _TOKEN.finditer(text)]


def parts(preprocessed: str) -> Iterator[tuple[bool, str]]:
    """(system header?, text) in order: system headers have no CUDA in them, and are most of the text."""
    part: list[str] = []
    system = False
    own: set[str] = (
        set()
    )  # where a system header's macro is expanded in them, their lines are marked as the system's, too
    for line in preprocessed.splitlines(keepends=True):
        if line.startswith("#") and (marker := _MARKER.match(line)):
            now = "3" in marker["flags"].split() and marker["file"] not in own
            if not now:
                own.add(marker["file"])
            if now != system:
                yield system, "".join(part)
                part, system = [], now
        part.append(line)
    yield system, "".join(part)


def closing(tokens: Sequence[Token], at: int) -> int | None:
    """Index of the bracket that closes the one at `at`, or None."""
    expected = [_CLOSING[tokens[at].text]]
    for i in range(at + 1, len(tokens)):
        text = tokens[i].text
        if text in _CLOSING:
            expected.append(_CLOSING[text])
        elif text == expected[-1]:
            expected.pop()
            if not expected:
                return i
    return None


def opening(tokens: Sequence[Token], at: int) -> int | None:
    """Index of the bracket that opens the one at `at`, angle brackets included, or None."""
    pairs = {")": "(", "]": "[", "}": "{"}
    angles = tokens[at].text == ">"
    if angles:
        pairs[">"] = "<"
    expected: list[str] = []
    for i in range(at, -1, -1):
        text = tokens[i].text
        if text in pairs and (text != ">" or not expected or expected[-1] == "<"):
            expected.append(pairs[text])
        elif expected and text == expected[-1]:
            expected.pop()
            if not expected:
                return i
    return None


def solid(tokens: Sequence[Token], at: int, step: int) -> int | None:
    """Index of the nearest token that is not blank, from `at` on in the direction of `step`, or None."""
    while 0 <= at < len(tokens):
        if not tokens[at].blank:
            return at
        at += step
    return None


def lines_of(tokens: Sequence[Token]) -> str:
    """The line ends and markers of what is replaced, so that the lines after it keep their numbers."""
    last = max((i for i, token in enumerate(tokens) if token.kind == "marker"), default=-1)
    newlines = "\n" * sum(token.text.count("\n") for token in tokens[last + 1 :])
    return newlines if last < 0 else f"\n{tokens[last].text}{newlines}"


def spelled(tokens: Sequence[Token]) -> str:
    """The text on one line."""
    return " ".join("".join(token.text for token in tokens if token.kind != "marker").split())
