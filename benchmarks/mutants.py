"""Change one number, comparison or keyword of a module at a time, and show the changes that no unit test notices.

    python -m benchmarks.mutants [--minutes N] [--among FOLDER] FILE_OR_FOLDER...

A line a survivor, and a line of JSON a file: how many mutants there were, and what became of them. Each runs in a fork
of this process, with the unit tests of its room that name the module. Nothing on disk is changed. The exit status is 1
where a mutant survives.

Known tools do not fit: mutmut leaves out module-level code and decorated functions, which here are all constants, all
rules and the whole fold; cosmic-ray has no mutant that doubles a number, swaps max and min or drops a keyword.
"""

import argparse
import ast
import copy
import importlib.util
import json
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest

SLOWEST_S = 60.0
"""A mutant whose tests take longer is killed: it may loop for ever."""
FLIPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
SWAPPED = {"max": "min", "min": "max", "any": "all", "all": "any"}


def mutants(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Line, change and mutated copy, for all changes of `tree` but in texts that are shown and in decorators."""
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    whole += [top for node in ast.walk(tree) for top in getattr(node, "decorator_list", ())]
    left_out = {id(part) for top in whole for part in ast.walk(top)}
    for at, node in enumerate(ast.walk(tree)):
        for change in _changes(node) if id(node) not in left_out else ():
            mutated = copy.deepcopy(tree)
            target = next(found for number, found in enumerate(ast.walk(mutated)) if number == at)
            change(target)
            assert isinstance(node, ast.expr | ast.stmt)
            yield node.lineno, f"{_head(node)}  ->  {_head(target)}", ast.fix_missing_locations(mutated)


def _changes(node: Any) -> Iterator[Callable[[Any], object]]:
    """Functions that change a copy of `node` in place."""
    match node:
        case ast.Constant(value=bool(value)):
            yield lambda n: setattr(n, "value", not value)
        case ast.Constant(value=int(value) | float(value)):
            little = value + 1 if isinstance(value, int) else value * 1.01 or 0.01
            for other in dict.fromkeys((little, value * 2 or little)):
                yield partial(lambda other, n: setattr(n, "value", other), other)
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield partial(lambda at, op, n: n.ops.__setitem__(at, FLIPPED[type(op)]()), at, op)
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in FLIPPED:
            yield lambda n: setattr(n, "op", FLIPPED[type(op)]())
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.BoolOp):
            yield lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield lambda n: setattr(n.func, "id", SWAPPED[name])
    for at in range(len(node.keywords) if isinstance(node, ast.Call) else 0):
        yield partial(lambda at, n: n.keywords.pop(at), at)


def _head(node: ast.AST) -> str:
    line = " ".join(ast.unparse(node).split())
    return line if len(line) <= 100 else f"{line[:97]}..."


class _Instead(MetaPathFinder, Loader):
    """Imports `name` from `tree` instead of from its file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name, self._path, self._tree = name, path, tree

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        found = name == self._name
        return importlib.util.spec_from_loader(name, self, origin=str(self._path)) if found else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._path)
        exec(compile(self._tree, str(self._path), "exec"), module.__dict__)


def outcome(name: str, path: Path, tree: ast.Module, tests: list[Path]) -> str:
    """What becomes of a mutant: "killed", by a test or by the clock, or "survived"."""
    if child := os.fork():
        until = time.monotonic() + SLOWEST_S
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.01)
        return "killed" if ended[1] else "survived"
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    sys.meta_path.insert(0, _Instead(name, path, tree))
    os._exit(int(pytest.main(["-x", "-p", "no:cacheprovider", "-p", "no:xdist", *map(str, tests)])))


def tests_of(path: Path, among: Path) -> list[Path]:
    """The test files of the module's room that name it; where none does, all of the room."""
    package, room = path.parent.as_posix().replace("/", "."), path.parts[1]
    named = re.compile(rf"{package}\.{path.stem}\b|from {package} import [^\n]*\b{path.stem}\b")
    files = sorted((among / room).rglob("test_*.py"))
    return [file for file in files if named.search(file.read_text())] or files


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no mutant after so many (60)")
    parser.add_argument("--among", type=Path, default=Path("tests/unit"), help="where the tests are (tests/unit)")
    given = parser.parse_args()
    quick = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # that something fails is enough
    hypothesis.settings.register_profile("mutants", derandomize=True, database=None, phases=quick)
    hypothesis.settings.load_profile("mutants")
    until, survivors = time.monotonic() + 60 * given.minutes, 0
    for path in (file for top in given.paths for file in (sorted(top.rglob("*.py")) if top.is_dir() else [top])):
        tree, tests, counted = ast.parse(path.read_text()), tests_of(path, given.among), Counter[str]()
        name = ".".join(path.with_suffix("").parts)
        green = bool(tests) and outcome(name, path, tree, tests) == "survived"
        for line, change, mutated in sorted(mutants(tree), key=lambda one: one[0]):
            became = outcome(name, path, mutated, tests) if green and time.monotonic() < until else "not tried"
            counted[became] += 1
            if became == "survived":
                print(f"{path}:{line}: {change}", flush=True)
        figures = {"mutants": counted.total(), **counted} | ({} if green else {"error": "its tests are not green"})
        print(json.dumps({"file": str(path), **figures}), flush=True)
        survivors += counted["survived"]
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
