"""What the files of kpd and tui import and define, for the rules that hold for all of them: each is parsed once."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.places import ROOT


@dataclass(frozen=True)
class Function:
    name: str
    docstring: str | None
    decorators: tuple[str, ...]


@dataclass(frozen=True)
class Statements:
    """Those of a module, at whatever depth."""

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    classes: tuple[str, ...]
    functions: tuple[Function, ...]


def product(*packages: str) -> list[Path]:
    return [path for package in packages or ("kpd", "tui") for path in sorted((ROOT / package).rglob("*.py"))]


@cache
def of_file(path: Path) -> Statements:
    return statements(path.read_text())


def statements(source: str) -> Statements:
    found = list(_within(ast.parse(source)))
    return Statements(
        tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom)),
        tuple(node.name for node in found if isinstance(node, ast.ClassDef)),
        tuple(
            Function(node.name, ast.get_docstring(node), tuple(map(ast.unparse, node.decorator_list)))
            for node in found
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
    )


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """Statements hold statements in lists alone: no expression need be looked at, of which there are ten times more."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in value if isinstance(value := getattr(node, part, None), list) else ():
            yield inner
            yield from _within(inner)
