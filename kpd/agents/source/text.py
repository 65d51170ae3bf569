"""Source text as far as a reply is looked at: what of it is code, what a comment, what a literal.

Lexing is all that it takes, and all that can be had of text that need not compile. Every character is looked at once.
"""

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["code", "comment", "literal"]
Language = Literal["c", "python", ""]
C_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".cuh", ".cl", ".hip")
_C = re.compile(
    r"(?P<word>(?!(?:u8|[uUL])?R\")[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|'?\w|\.)*)"  # 1'000 holds no character
    r"|(?P<line>//)|(?P<block>/\*)|(?P<raw>(?:u8|[uUL])?R\")|(?P<quote>[\"'])"
)
_PYTHON = re.compile(r"(?P<line>\#)|(?P<quote>\"\"\"|'''|\"|')")
_REST_OF_LINE = {"c": re.compile(r"(?:[^\n\\]|\\[\s\S])*+"), "python": re.compile(r"[^\n]*")}
_CLOSED = {
    "'": re.compile(r"(?:[^'\\\n]|\\[\s\S])*+'?"),
    '"': re.compile(r'(?:[^"\\\n]|\\[\s\S])*+"?'),
    "'''": re.compile(r"(?:[^'\\]|\\[\s\S]|'(?!''))*+(?:''')?"),
    '"""': re.compile(r'(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:""")?'),
}
_DELIMITER = re.compile(r'[^()\\\s"]{0,16}\(')


def language(path: str) -> Language:
    """What the file is written in; empty for what is never looked into."""
    if path.endswith(C_SUFFIXES):
        return "c"
    return "python" if path.endswith(".py") else ""


def parts(path: str, text: str) -> Iterator[tuple[Kind, str]]:
    """The text in order, all of it. What is never closed lasts to its end, as a compiler would have it.

    A file in another language is one literal.
    """
    here = language(path)
    if not here:
        yield "literal", text
        return
    pattern = _C if here == "c" else _PYTHON
    begun = at = 0
    while (found := pattern.search(text, at)) is not None:
        at = found.end()
        if found.lastgroup == "word":
            continue
        kind: Kind = "comment" if found.lastgroup in ("line", "block") else "literal"
        at = _end(text, found, here)
        yield "code", text[begun : found.start()]
        yield kind, text[found.start() : at]
        begun = at
    yield "code", text[begun:]


def code(path: str, text: str) -> str:
    """The code where it stands, with blanks in place of comments and literals: as long, and in the same lines."""
    return "".join(part if kind == "code" else blank(part) for kind, part in parts(path, text))


def blank(text: str) -> str:
    """As many blanks, in as many lines."""
    return re.sub(r"[^\n]", " ", text)


def line_of(text: str, at: int) -> int:
    """The line, from 1, in which the character number `at` stands."""
    return text.count("\n", 0, at) + 1


def _end(text: str, begun: re.Match[str], here: Language) -> int:
    """Where the comment or literal ends whose first mark is `begun`."""
    match begun.lastgroup:
        case "line":
            return _matched(_REST_OF_LINE[here], text, begun.end())
        case "block":
            return _past(text, "*/", begun.end())
        case "raw":
            delimiter = _DELIMITER.match(text, begun.end())
            if delimiter is not None:
                return _past(text, f'){delimiter[0][:-1]}"', delimiter.end())
            return _matched(_CLOSED['"'], text, begun.end())
    return _matched(_CLOSED[begun[0]], text, begun.end())


def _matched(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _past(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    return len(text) if found < 0 else found + len(mark)
