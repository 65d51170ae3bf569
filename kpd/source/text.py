"""Splits source text into code, comments and literals, without a grammar.

Lexing is all that it takes, and all that can be had of text that need not compile. Every character is looked at once.
"""

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["code", "comment", "literal"]
Language = Literal["c", "python", ""]
C_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".cuh", ".cl", ".hip")
# What is never closed lasts to the end of its line, or of the text, as a compiler would have it.
LEXEMES = re.compile(
    r"""
    (?P<end>\r?\n)
  | (?P<comment>//(?:\\[\s\S]|[^\\\n])*+ | /\*(?s:.*?)(?:\*/|\Z))
  | (?P<blank>(?:[^\S\n]|\\\r?\n)+)
  | (?P<string>(?:u8|[uUL])?R"(?P<fence>[^()\s\\"]{0,16})\((?s:.*?)(?:\)(?P=fence)"|\Z)
      | (?:u8|[uUL])?"(?:[^"\\\n]|\\[\s\S])*+"?
      | (?:u8|[uUL])?'(?:[^'\\\n]|\\[\s\S])*+'?)
  | (?P<word>[A-Za-z_$][\w$]*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?\w|\.)*)        # 1'000 holds no character
  | (?P<mark>->|::|\+\+|--|&&|\|\||\.\.\.|[-+*/%&|^=!<>]=|\#\#|(?s:.))        # angle brackets one by one
    """,
    re.VERBOSE,
)
"""The lexemes of C, C++ and CUDA: any text is a row of them."""
_PYTHON = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r'|(?P<string>"""(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:""")?' r"|'''(?:[^'\\]|\\[\s\S]|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]|\\[\s\S])*+"?' r"|'(?:[^'\\\n]|\\[\s\S])*+'?)"
)  # fmt: skip
_KINDS: dict[str | None, Kind] = {"comment": "comment", "string": "literal"}


def language(path: str) -> Language:
    """Return what the file is written in, "c" for all that has C's lexemes; empty for what is never looked into."""
    if path.endswith(C_SUFFIXES):
        return "c"
    return "python" if path.endswith(".py") else ""


def parts(path: str, text: str) -> Iterator[tuple[Kind, str]]:
    """The text in order, all of it. A file in another language is one literal."""
    here = language(path)
    if not here:
        yield "literal", text
        return
    begun = 0
    for found in (LEXEMES if here == "c" else _PYTHON).finditer(text):
        if kind := _KINDS.get(found.lastgroup):
            yield "code", text[begun : found.start()]
            yield kind, found[0]
            begun = found.end()
    yield "code", text[begun:]


def code(path: str, text: str, literals: bool = False) -> str:
    """Return the code where it stands, as long and in the same lines: blanks stand for comments, and for `literals` or not."""
    return "".join(
        part if kind == "code" or (literals and kind == "literal") else blank(part) for kind, part in parts(path, text)
    )


def blank(text: str) -> str:
    """As many blanks, in as many lines."""
    return re.sub(r"[^\n]", " ", text)


_IN_CODE = {
    **dict.fromkeys(map(ord, "“”„‟″＂"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛′＇"), "'"),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    0x2026: "...",
    **{wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F) if not chr(wide - 0xFEE0).isalnum()},
}
_UNSEEN = dict.fromkeys((0xAD, 0x061C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF))


def plain_code(path: str, text: str) -> str:
    """Return `text` with ASCII punctuation in its code; comments and literals keep theirs, where it does no harm.

    Characters that cannot be seen, or that turn the direction of what can, go everywhere: with them a person reads
    another text than is compiled.
    """
    seen = text.translate(_UNSEEN)
    if seen.isascii():
        return seen
    return "".join(part.translate(_IN_CODE) if kind == "code" else part for kind, part in parts(path, seen))
