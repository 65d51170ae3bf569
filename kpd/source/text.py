"""Splits source text into code, comments and literals, without a grammar.

It only lexes, so it also works on text that does not compile. Every character is looked at once.
"""

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["code", "comment", "literal"]
Language = Literal["c", "python", ""]
C_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".cuh", ".cl", ".hip")
# An unclosed comment or literal lasts to the end of its line, or of the text, as for a compiler.
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
"""The lexemes of C, C++ and CUDA; any text is a sequence of them."""
_PYTHON = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r'|(?P<string>"""(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:""")?' r"|'''(?:[^'\\]|\\[\s\S]|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]|\\[\s\S])*+"?' r"|'(?:[^'\\\n]|\\[\s\S])*+'?)"
)  # fmt: skip
_KINDS: dict[str | None, Kind] = {"comment": "comment", "string": "literal"}


def language(path: str) -> Language:
    """Return the language of a file, "c" for all that has C's lexemes; empty for files that are never analysed."""
    if path.endswith(C_SUFFIXES):
        return "c"
    return "python" if path.endswith(".py") else ""


def parts(path: str, text: str) -> Iterator[tuple[Kind, str]]:
    """Yield the whole text in order, in parts. A file in another language is one literal."""
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
    """Return the text with blanks for comments, and for literals unless `literals`; offsets and lines stay the same."""
    return "".join(
        part if kind == "code" or (literals and kind == "literal") else blank(part) for kind, part in parts(path, text)
    )


def blank(text: str) -> str:
    """Replace every character but line ends by a blank."""
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
    """Return `text` with ASCII punctuation in its code; comments and literals keep theirs.

    Invisible characters, and those that change the direction of text, are removed everywhere: with them a person would
    read another text than is compiled.
    """
    seen = text.translate(_UNSEEN)
    if seen.isascii():
        return seen
    return "".join(part.translate(_IN_CODE) if kind == "code" else part for kind, part in parts(path, seen))
