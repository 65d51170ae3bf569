"""No product code decides by reading a sentence: facts carry data, and what is rendered is shown and nothing else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT

FREE_TEXT = {
    "action", "bottleneck", "error", "feedback", "found", "label", "memo", "message", "reason", "remedy", "said",
    "text", "told", "waits", "words",
}  # fmt: skip
"""Fields, keys and attributes that hold words for people: kpd's own, or those of others."""
METHODS = {
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "find", "rfind", "index",
    "count",
}  # fmt: skip
PATTERN = {"search", "match", "fullmatch", "findall", "finditer", "sub", "split"}
SAME_WORDS = {"strip", "lstrip", "rstrip", "lower", "casefold"}
CLEANED = {"str", "clean", "plain", "bare", "first_line", "line", "one_line"}
"""Functions whose answer says what their argument says."""

READERS = ("kpd/source/", "kpd/onboarding/")
"""These rooms read programs: what they call a text is a token of one."""
ALLOWED = {
    "kpd/hosts/preflight/cards.py": "leaves a host's name out of what its own card says; decides nothing",
    "kpd/hosts/ssh/connect.py": "the words of another library's errors, which have no code",
    "kpd/knowledge/memory_file.py": "the format of a file that people edit; free words in it stand behind a colon",
    "kpd/knowledge/summary.py": "likewise",
    "kpd/profile/ncu/advice.py": "the words of a vendor's profiler",
    "tui/editing.py": "whether a file that is to be edited is UTF-8",
    "tui/panes/output_rows.py": "what an operator looks for in what a program has printed",
    "tui/screens/dialog.py": "where on the screen the words of a hint stand",
}


class Reader(ast.NodeVisitor):
    """Finds where a module asks a sentence a question. What a name holds is followed within a function."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[int, str]] = []
        self.renderers = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and re.match(r"kpd\.text\.(?!foreign)", node.module or "")
            for alias in node.names
        }
        self.names: set[str] = set()
        self.visit(tree)

    def visit(self, node: ast.AST) -> None:
        outer = self.names
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.names = self._told_in(node)
            case ast.Call():
                self._called(node)
            case ast.Compare():
                self._compared(node)
        self.generic_visit(node)
        self.names = outer

    def _told_in(self, function: ast.AST) -> set[str]:
        """The names that hold a sentence somewhere in the function."""
        outer, self.names = self.names, set(self.names)
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.NamedExpr(ast.Name(id=name), value):
                    self.names |= {name} if self.says(value) else set()
        found, self.names = self.names, outer
        return found

    def _called(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, node.func.value
            asked = (name in METHODS or (name == "split" and node.args)) and self.says(of)
            if asked or (name in PATTERN and any(map(self.says, node.args))):
                self.found.append((node.lineno, ast.unparse(node)))

    def _compared(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            one, other = self.says(left), self.says(right)
            equal = isinstance(op, ast.Eq | ast.NotEq) and (one or other) and not (code(left) or code(right))
            within = isinstance(op, ast.In | ast.NotIn) and (other or (one and not code(right)))
            if equal or within:
                self.found.append((node.lineno, ast.unparse(node)))

    def says(self, node: ast.expr) -> bool:
        """Whether the expression is a sentence."""
        match node:
            case ast.Name(id=name):
                return name in self.names
            case ast.Attribute(attr=attr):
                return attr in FREE_TEXT
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                return key in FREE_TEXT
            case ast.Call(func=ast.Name(id=name)) if name in self.renderers:
                return True
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in CLEANED:
                return self.says(first)
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
                return key in FREE_TEXT
            case ast.Call(func=ast.Attribute(attr=name, value=of)) if name in SAME_WORDS:
                return self.says(of)
            case ast.BoolOp(values=values):
                return any(map(self.says, values))
            case ast.IfExp(body=body, orelse=other):
                return self.says(body) or self.says(other)
        return False


def code(node: ast.expr) -> bool:
    """Whether it is a word of a program or nothing at all, or several of those, and so no sentence."""
    match node:
        case ast.Constant(value=str(value)):
            return " " not in value
        case ast.Tuple(elts=parts):
            return all(map(code, parts))
    return isinstance(node, ast.Constant)


def asked(path: Path) -> list[tuple[int, str]]:
    return Reader(ast.parse(path.read_text())).found


def product() -> Iterator[str]:
    for package in ("kpd", "tui"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix()


def test_nothing_decides_by_a_sentence() -> None:
    paths = [path for path in product() if not path.startswith(READERS) and path not in ALLOWED]
    found = [f"{path}:{line}: {what}" for path in paths for line, what in asked(ROOT / path)]
    assert not found, f"give the data that this reads off words: {found}"


def test_what_is_let_do_so_still_does() -> None:
    assert not [path for path in ALLOWED if not asked(ROOT / path)]


READING = """
from kpd.text.waits import wait
from kpd.text import notices
def waits(run):
    return wait(run.waiting).startswith("for ")
def named(run):
    told = wait(run.waiting)
    return "approval" in told.lower()
def kind(it):
    return re.match("declined by", clean(it.memo)) or it.memo == "operator edit: 1 line"
def answer(body):
    return body["reason"].partition(":")[0]
"""
SHOWING = """
from kpd.text.waits import wait
def waits(run):
    return f"{wait(run.waiting)}; {' '.join(run.memo.split())}" if run.waiting else ""
def kind(it, result):
    return it.outcome == "accepted" and it.memo == "" and result.reason in ("killed", "lost")
"""


def test_the_test_finds_questions_and_nothing_else() -> None:
    assert [line for line, _ in Reader(ast.parse(READING)).found] == [5, 8, 10, 10, 12]
    assert Reader(ast.parse(SHOWING)).found == []
