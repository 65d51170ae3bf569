"""The docstring of a function says what to do, in the imperative: it begins with none of the words that cannot."""

import ast
import re
from collections.abc import Iterator

from tests.places import ROOT

WORDS = """
a an the this that these those it its they their there he she we you i
what whether how why which where who whoever whom whose when whenever while until till once because since if
as of by with without within from for in into at on onto below above beside before after between among to than
under over out up down behind per via
one two all any each every both either neither no not none nothing nobody somebody everything everybody everyone
some so such many more most much few least only also
"""
"""Words with which no imperative begins."""
NOT_IMPERATIVE = frozenset(WORDS.split())
PROPERTIES = frozenset({"property", "cached_property"})


def places() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for name in ("kpd", "tui") for path in (ROOT / name).rglob("*.py"))


def strays(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_property(node):
            continue
        docstring = ast.get_docstring(node)
        if docstring is None:
            continue
        begins = re.match(r"[A-Za-z]+", docstring)
        if begins is None or begins[0].lower() in NOT_IMPERATIVE:
            yield f"{node.name}: {docstring.splitlines()[0]}"


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & PROPERTIES)


def test_the_docstring_of_a_function_begins_with_a_verb() -> None:
    assert [f"{path}: {stray}" for path in places() for stray in strays((ROOT / path).read_text())] == []


def test_the_test_finds_what_is_no_verb_and_nothing_else() -> None:
    source = '''
def first():
    """The sum."""

async def second():
    """`count` of them."""

def third():
    """Return the sum."""

def fourth(): ...

class Fifth:
    """One of five."""

    @property
    def sum(self):
        """The sum."""

    @functools.cached_property
    def product(self):
        """The product."""

    def told(self):
        """None where there is none."""
'''
    assert list(strays(source)) == [
        "first: The sum.",
        "second: `count` of them.",
        "told: None where there is none.",
    ]
