"""Colours for program text: what each stretch of a line is, by the name of its file. Unknown files stay plain."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol

Span = tuple[int, int, str]
"""From and to which character of a line, and the style."""


class Lexer(Protocol):
    """What is used of Pygments."""

    def get_tokens(self, text: str) -> Iterable[tuple[Any, str]]: ...


LONGEST = 240
"""Characters of a line that get colours: patterns of a lexer may take the square of a line's length."""

_C_NAMES = frozenset({
    "restrict", "__restrict", "__restrict__", "__attribute__", "size_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
    "int8_t", "int16_t", "int32_t", "int64_t", "__m128", "__m256", "__m512",
})  # fmt: skip
_CUDA_NAMES = _C_NAMES | {
    "__global__", "__device__", "__host__", "__shared__", "__constant__", "__launch_bounds__", "__forceinline__",
    "float2", "float3", "float4", "int2", "int4", "uint2", "uint4", "double2", "dim3", "half", "half2", "__half",
    "__half2", "__nv_bfloat16", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
}  # fmt: skip
_PATTERNS: dict[str, tuple[str, str]] = {
    ".c": ("c_cpp", "CLexer"), ".h": ("c_cpp", "CLexer"),
    ".cu": ("c_cpp", "CppLexer"), ".cuh": ("c_cpp", "CppLexer"),
    ".cc": ("c_cpp", "CppLexer"), ".cpp": ("c_cpp", "CppLexer"), ".hpp": ("c_cpp", "CppLexer"),
    ".py": ("python", "PythonLexer"), ".json": ("data", "JsonLexer"), ".toml": ("configs", "TOMLLexer"),
}  # fmt: skip


def spans(file: str, lines: Sequence[str]) -> list[tuple[Span, ...]]:
    """The coloured stretches of each of some lines that follow one another in `file`."""
    suffix = _suffix(file)
    lexer = _lexer(suffix)
    if lexer is None:
        return [()] * len(lines)
    known = _CUDA_NAMES if suffix in (".cu", ".cuh") else _C_NAMES
    found: list[list[Span]] = [[] for _ in lines]
    row = column = 0
    for kind, text in _tokens(lexer, "".join(line[:LONGEST] + "\n" for line in lines)):
        style = ".code-type" if text in known else _style(kind)
        for nth, piece in enumerate(text.split("\n")):
            if nth:
                row, column = row + 1, 0
            if style and piece.strip() and row < len(lines):
                found[row].append((column, column + len(piece), style))
            column += len(piece)
    return [tuple(one) for one in found]


def _suffix(file: str) -> str:
    return "." + file.rpartition(".")[2].lower() if "." in file else ""


@lru_cache(maxsize=len(_PATTERNS) + 1)
def _lexer(suffix: str) -> Lexer | None:
    """Imported when the first line of such a file is shown: an attach without a diff does not pay for it."""
    if suffix not in _PATTERNS:
        return None
    module, name = _PATTERNS[suffix]
    lexer: Lexer = getattr(import_module(f"pygments.lexers.{module}"), name)(stripnl=False, ensurenl=False)
    return lexer


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    for kind, value in lexer.get_tokens(text):
        yield ".".join(kind), value


@lru_cache(maxsize=256)
def _style(kind: str) -> str:
    """The style of a kind of token (`Keyword.Type`); empty for what stays as it is."""
    for prefix, style in (
        ("Comment.Preproc", ".code-macro"), ("Comment", ".code-comment"), ("Keyword.Type", ".code-type"),
        ("Keyword", ".code-keyword"), ("Literal.String", ".code-string"), ("Literal.Number", ".code-number"),
        ("Name.Function", ".code-name"), ("Name.Class", ".code-name"), ("Name.Builtin", ".code-type"),
        ("Name.Tag", ".code-keyword"), ("Name.Decorator", ".code-macro"), ("Operator.Word", ".code-keyword"),
    ):  # fmt: skip
        if kind.startswith(prefix):
            return style
    return ""
