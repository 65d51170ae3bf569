"""Colours program text by the name of its file. Unknown files stay plain."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

from kpd.workspace.entry_points import referred
from kpd.workspace.languages import syntax_of

Span = tuple[int, int, str]
"""The start and end in a line, and the style."""


class Lexer(Protocol):
    """The part of a Pygments lexer that is used here."""

    def get_tokens(self, text: str) -> Iterable[tuple[Any, str]]: ...


LONGEST = 240
"""Characters of a line that get colours: patterns of a lexer may take the square of a line's length."""


def spans(file: str, lines: Sequence[str]) -> list[tuple[Span, ...]]:
    """Return the coloured parts of some consecutive lines of `file`."""
    known = syntax_of(file)
    lexer = _lexer(known.lexer)
    if lexer is None:
        return [()] * len(lines)
    found: list[list[Span]] = [[] for _ in lines]
    row = column = 0
    for kind, text in _tokens(lexer, "".join(line[:LONGEST] + "\n" for line in lines)):
        style = ".code-type" if text in known.types else _style(kind)
        for nth, piece in enumerate(text.split("\n")):
            if nth:
                row, column = row + 1, 0
            if style and piece.strip() and row < len(lines):
                found[row].append((column, column + len(piece), style))
            column += len(piece)
    return [tuple(one) for one in found]


@lru_cache(maxsize=32)
def _lexer(reference: str) -> Lexer | None:
    """Import the lexer, when the first line of such a file is shown: an attach without a diff does not pay for it.

    None for plain text, also where a plug-in refers to a lexer that does not exist.
    """
    try:
        return cast(Lexer, referred(reference)(stripnl=False, ensurenl=False)) if reference else None
    except (ImportError, AttributeError):
        return None


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    for kind, value in lexer.get_tokens(text):
        yield ".".join(kind), value


@lru_cache(maxsize=256)
def _style(kind: str) -> str:
    """Return the style of a kind of token (`Keyword.FunctionType`); empty where it has none."""
    for prefix, style in (
        ("Comment.Preproc", ".code-macro"), ("Comment", ".code-comment"), ("Keyword.Type", ".code-type"),
        ("Keyword", ".code-keyword"), ("Literal.String", ".code-string"), ("Literal.Number", ".code-number"),
        ("Name.Function", ".code-name"), ("Name.Class", ".code-name"), ("Name.Builtin", ".code-type"),
        ("Name.Tag", ".code-keyword"), ("Name.Decorator", ".code-macro"), ("Operator.Word", ".code-keyword"),
    ):  # fmt: skip
        if kind.startswith(prefix):
            return style
    return ""
