"""Leaves of a Python module what importing it runs: neither its docstrings, nor what it does as the main program."""

import ast
import re
import warnings
from collections.abc import Iterator

_MAIN = "__name__"
_RUNS_TEXT = re.compile(
    r"\b(exec|eval|compile|__doc__|__code__|co_consts|FunctionType|doctest|runpy|__loader__|__spec__)\b|[\r\f]"
    r"|\A[^\n]*\n?[^\n]*coding[:=](?![ \t]*utf-?8\b)"
)
"""Where one of these is, a docstring may be run; a line may begin in the middle of one of the text's; or the text is
read in another encoding."""
_RENAMES = re.compile(r"\b(globals|vars|setattr|__dict__|runpy|modules)\b|import\s*\*|[^\x00-\x7f]")
"""Where one of these is, it may have another name than the one that it is imported by."""


def imported(text: str) -> str:
    """Return the text with blanks for what importing it does not run; lines and columns stay the same.

    Text that cannot be parsed, or may run its docstrings, is returned as it is. What it does as the main program stays
    unless it only reads its name.
    """
    if _RUNS_TEXT.search(text):
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = text.encode().split(b"\n")
    for node in _unrun(tree, text):
        assert node.end_lineno is not None and node.end_col_offset is not None
        for number in range(node.lineno, node.end_lineno + 1):
            line = lines[number - 1]
            begin = node.col_offset if number == node.lineno else 0
            end = node.end_col_offset if number == node.end_lineno else len(line)
            lines[number - 1] = line[:begin] + b" " * (end - begin) + line[end:]
    return b"\n".join(lines).decode()


def _unrun(tree: ast.Module, text: str) -> Iterator[ast.stmt | ast.expr]:
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id == _MAIN]
    renamed = _RENAMES.search(text) or len(names) != text.count(_MAIN)
    if not renamed and all(isinstance(one.ctx, ast.Load) for one in names):
        for node in tree.body:
            if isinstance(node, ast.If) and _is_main(node.test):
                yield node.test
                yield from node.body


def _is_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ast.Name(id="__name__"), [ast.Eq()], [ast.Constant("__main__")]):
            return True
    return False
